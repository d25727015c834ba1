import time

import numpy as np
import rospy
import torch
from sensor_msgs.msg import Image

from servo.msgs import to_numpy
from servo.nets import KeypointNet


class ServoNode:
    def __init__(self):
        self.net = KeypointNet()
        self.net.load_state_dict(torch.load(rospy.get_param("~weights"), map_location="cpu"))
        self.net.cuda().eval()
        self.trace = []
        self.fast = None
        rospy.Subscriber("/cam/rgb", Image, self.on_image, queue_size=1)

    def on_image(self, msg):
        t0 = time.time()
        frame = to_numpy(msg)
        x = torch.from_numpy(np.ascontiguousarray(frame)).permute(2, 0, 1)[None].float().cuda() / 255
        traced = torch.jit.trace(self.net, x)
        kp = traced(x)
        self.trace.append((msg.header.stamp, kp.mean().item()))
        rospy.loginfo("%.1f ms", 1e3 * (time.time() - t0))
        self.publish(kp.detach().cpu().numpy()[0])

    def publish(self, kp):
        rospy.loginfo("keypoints %s", kp.round(1))


if __name__ == "__main__":
    rospy.init_node("servo")
    ServoNode()
    rospy.spin()
