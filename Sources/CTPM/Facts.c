#include "Library.h"

#ifdef LK_HAS_TSS2
#include <string.h>

// The properties from `first` on that the TPM has, at most `count`.
static lk_tpm_result read_properties(lk_tpm *tpm, TPM2_PT first, uint32_t count, TPML_TAGGED_TPM_PROPERTY *properties) {
    TPMS_CAPABILITY_DATA *data = NULL;
    TPMI_YES_NO more;
    TSS2_RC code = lk_tss2.Esys_GetCapability(tpm->esys, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                                              TPM2_CAP_TPM_PROPERTIES, first, count, &more, &data);
    if (code == TSS2_RC_SUCCESS) {
        *properties = data->data.tpmProperties;
        lk_tss2.Esys_Free(data);
    }
    return lk_tpm_meaning(code, LK_STEP_ANY);
}

lk_tpm_result lk_tpm_read_lockout(lk_tpm *tpm, lk_tpm_lockout *lockout) {
    *lockout = (lk_tpm_lockout){0};
    TPML_TAGGED_TPM_PROPERTY properties;
    lk_tpm_result result =
        read_properties(tpm, TPM2_PT_PERMANENT, TPM2_PT_LOCKOUT_INTERVAL - TPM2_PT_PERMANENT + 1, &properties);
    if (result.kind != LK_TPM_DONE) return result;
    for (uint32_t i = 0; i < properties.count; i++) {
        uint32_t value = properties.tpmProperty[i].value;
        switch (properties.tpmProperty[i].property) {
        case TPM2_PT_PERMANENT: lockout->is_locked_out = (value & TPMA_PERMANENT_INLOCKOUT) != 0; break;
        case TPM2_PT_LOCKOUT_COUNTER: lockout->failed_tries = value; break;
        case TPM2_PT_MAX_AUTH_FAIL: lockout->max_tries = value; break;
        case TPM2_PT_LOCKOUT_INTERVAL: lockout->recovery_seconds = value; break;
        }
    }
    return result;
}

// Four letters in a word, padded with zeros or spaces.
static char *append_letters(char *end, uint32_t word) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        char letter = (char)(word >> shift & 0xff);
        if (letter != 0) *end++ = letter >= ' ' && letter <= '~' ? letter : '?';
    }
    return end;
}

static void end_text(char *start, char *end) {
    while (end > start && end[-1] == ' ') end--;
    *end = 0;
}

lk_tpm_result lk_tpm_read_name(lk_tpm *tpm, char manufacturer[5], char model[17]) {
    *manufacturer = *model = 0;
    TPML_TAGGED_TPM_PROPERTY properties;
    lk_tpm_result result =
        read_properties(tpm, TPM2_PT_MANUFACTURER, TPM2_PT_VENDOR_STRING_4 - TPM2_PT_MANUFACTURER + 1, &properties);
    if (result.kind != LK_TPM_DONE) return result;
    char *model_end = model;
    uint32_t next_part = TPM2_PT_VENDOR_STRING_1;
    for (uint32_t i = 0; i < properties.count; i++) {
        TPMS_TAGGED_PROPERTY property = properties.tpmProperty[i];
        if (property.property == TPM2_PT_MANUFACTURER) {
            end_text(manufacturer, append_letters(manufacturer, property.value));
        } else if (property.property == next_part && next_part <= TPM2_PT_VENDOR_STRING_4) {
            // Each once and in order, whatever the TPM sends: the buffer has room for four.
            model_end = append_letters(model_end, property.value);
            next_part++;
        }
    }
    end_text(model, model_end);
    return result;
}

#endif
