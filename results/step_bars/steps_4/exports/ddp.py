# PyTorch DistributedDataParallel: MiB (1024 x 1024 bytes) of gpt2 (layers=4,hidden=256,vocab=2048) gradients
model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=2)
