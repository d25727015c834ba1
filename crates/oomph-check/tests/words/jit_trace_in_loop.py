import rospy
import torch
from sensor_msgs.msg import Image
from nets import Points, as_tensor

class Node:
    def __init__(self):
        self.net = Points().cuda().eval()
        rospy.Subscriber("/rgb", Image, self.on_image, queue_size=1)

    def on_image(self, msg):
        x = as_tensor(msg).cuda()
        with torch.no_grad():
            traced = torch.jit.trace(self.net, x)  # <-
            self.send(traced(x).cpu().numpy())

    def send(self, points):
        rospy.loginfo("%s", points)
