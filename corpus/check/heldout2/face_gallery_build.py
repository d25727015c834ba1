import torch
from facenet_pytorch import InceptionResnetV1, MTCNN

mtcnn = MTCNN(device="cuda")
resnet = InceptionResnetV1(pretrained="vggface2").eval().cuda()


def build_gallery(people):
    gallery = {}
    for name, pictures in people.items():
        faces = torch.stack([mtcnn(p) for p in pictures]).cuda()
        gallery[name] = resnet(faces).mean(0)
    return gallery


def who(gallery, picture):
    with torch.no_grad():
        probe = resnet(mtcnn(picture).unsqueeze(0).cuda())
    return max(gallery, key=lambda n: torch.cosine_similarity(probe, gallery[n][None]).item())
