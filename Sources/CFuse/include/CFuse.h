#ifndef CFuse_H
#define CFuse_H
#endif
