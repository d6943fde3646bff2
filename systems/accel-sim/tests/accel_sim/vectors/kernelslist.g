MemcpyHtoD,0x00007f3000000000,4096
MemcpyHtoD,0x00007f3000000800,4096
MemcpyHtoD,0x00007f3000100000,512

kernel-modes.traceg
kernel-spaces.traceg
kernel-classes.traceg
kernel-places.traceg
MemcpyDtoH,0x00007f3000100000,256
