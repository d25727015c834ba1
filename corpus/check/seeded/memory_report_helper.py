import logging

from torch.cuda import max_memory_allocated, max_memory_cached, memory_allocated

logger = logging.getLogger(__name__)


def see_memory_usage(message):
    gb = 1024 ** 3
    logger.info(message)
    logger.info("MA %.2f GB", memory_allocated() / gb)
    logger.info("Max_MA %.2f GB", max_memory_allocated() / gb)
    logger.info("Max_CA %.2f GB", max_memory_cached() / gb)
