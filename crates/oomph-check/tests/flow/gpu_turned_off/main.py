from agent import Agent
from options import args
from nets import Net

args.no_cuda = True
args.cuda = not args.no_cuda
agent = Agent(args, Net())
