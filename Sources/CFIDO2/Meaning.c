#include "Library.h"

// CTAP 2.1, 8.2, and the additional codes of libfido2: fido_strerr(3).
lk_fido2_result lk_fido2_meaning(int code) {
    int kind = LK_FIDO2_OTHER;
    switch (code) {
    case 0x00: kind = LK_FIDO2_DONE; break;
    case 0x05: // CTAP1_ERR_TIMEOUT
    case 0x2f: // CTAP2_ERR_USER_ACTION_TIMEOUT
    case 0x3a: // CTAP2_ERR_ACTION_TIMEOUT
        kind = LK_FIDO2_NOT_TOUCHED;
        break;
    case 0x27: // CTAP2_ERR_OPERATION_DENIED
    case 0x2d: // CTAP2_ERR_KEEPALIVE_CANCEL
        kind = LK_FIDO2_DENIED;
        break;
    case 0x16: // CTAP2_ERR_UNSUPPORTED_EXTENSION
    case 0x26: // CTAP2_ERR_UNSUPPORTED_ALGORITHM
        kind = LK_FIDO2_UNFIT;
        break;
    case 0x22: // CTAP2_ERR_INVALID_CREDENTIAL
    case 0x2e: // CTAP2_ERR_NO_CREDENTIALS
        kind = LK_FIDO2_UNKNOWN;
        break;
    case 0x31: // CTAP2_ERR_PIN_INVALID
    case 0x33: // CTAP2_ERR_PIN_AUTH_INVALID
        kind = LK_FIDO2_PIN_WRONG;
        break;
    case 0x32: // CTAP2_ERR_PIN_BLOCKED
        kind = LK_FIDO2_PIN_BLOCKED;
        break;
    case 0x34: // CTAP2_ERR_PIN_AUTH_BLOCKED
        kind = LK_FIDO2_PIN_PAUSED;
        break;
    case 0x36: // CTAP2_ERR_PUAT_REQUIRED
        kind = LK_FIDO2_PIN_REQUIRED;
        break;
    case -1: // FIDO_ERR_TX
    case -2: // FIDO_ERR_RX
    case -3: // FIDO_ERR_RX_NOT_CBOR
    case -4: // FIDO_ERR_RX_INVALID_CBOR
    case -9: // FIDO_ERR_INTERNAL, also if the key is unplugged before it has agreed on a secret
        kind = LK_FIDO2_NO_DEVICE;
        break;
    default: break;
    }
    return (lk_fido2_result){kind, code};
}
