/* Our declarations of NVTX's binary interface against NVIDIA's own. */
#include "nvtx_abi.h"

#include <assert.h>

#include "test.h"

/* Types of one name are different things here and there: ours come first. */
#include <nvtx3/nvToolsExt.h>

#define SAME(ours, theirs)                                                                         \
    static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
#define SAME_PLACE(ours, theirs)                                                                   \
    SAME(offsetof(struct nvtx_attributes, ours), offsetof(nvtxEventAttributes_t, theirs))

SAME(NVTX_EXPORT_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_NOT_TRACKED, NVTX_NO_PUSH_POP_TRACKING);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_CORE_COUNT, NVTX_CBID_CORE_SIZE);
SAME(NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(NVTX_CORE2_COUNT, NVTX_CBID_CORE2_SIZE);
SAME(NVTX_MESSAGE_TEXT, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_HANDLE, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME_PLACE(version, version);
SAME_PLACE(size, size);
SAME_PLACE(category, category);
SAME_PLACE(payload_type, payloadType);
SAME_PLACE(payload, payload);
SAME_PLACE(message_type, messageType);
SAME_PLACE(message, message);
SAME(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct nvtx_callbacks, module_table),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(uint64_t), sizeof(nvtxRangeId_t));

/* What the assertions cannot say: the headers of this toolkit know the type of our function. */
int InitializeInjectionNvtx2(nvtx_export tables);

TEST(the_initializer_is_what_nvtx_calls)
{
    NvtxInitializeInjectionNvtxFunc_t theirs = InitializeInjectionNvtx2;
    CHECK(theirs(NULL) == 0);
}

TEST_MAIN(TEST_CASE(the_initializer_is_what_nvtx_calls))
