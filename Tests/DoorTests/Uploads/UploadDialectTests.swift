import HTTPTypes
import Testing

@testable import Door

struct UploadDialectTests {
    @Test(
        arguments: [
            ([.tusResumable: "1.0.0"], .tus), ([.tusResumable: "0.9"], .tus),
            ([.contentType: UploadMediaType.tus], .tus),
            ([.tusResumable: "1.0.0", .uploadComplete: "?1"], .tus),
            ([.uploadDraftInteropVersion: "3", .uploadIncomplete: "?0"], .resumable(ResumableDialect(.draft01))),
            (
                [.uploadDraftInteropVersion: "5", .contentType: UploadMediaType.tus],
                .resumable(ResumableDialect(.draft03))
            ),
            ([.uploadDraftInteropVersion: "6"], .resumable(ResumableDialect(.draft04))),
            ([.uploadDraftInteropVersion: "8"], .resumable(ResumableDialect(.draft09))),
            ([.uploadDraftInteropVersion: "9"], .resumable(ResumableDialect(.draft12))),
            ([.uploadDraftInteropVersion: "7"], .unknownVersion(7)),
            ([.uploadDraftInteropVersion: "10"], .unknownVersion(10)),
            ([.uploadDraftInteropVersion: "nine"], .plain),
            ([.uploadComplete: "?1"], .resumable(ResumableDialect(nil))),
            ([.uploadIncomplete: "?1"], .resumable(ResumableDialect(nil, statesIncomplete: true))),
            ([.contentType: "Application/Partial-Upload"], .resumable(ResumableDialect(nil))),
            ([.contentType: "multipart/form-data; boundary=a"], .form), ([.contentType: "image/png"], .plain),
            ([:], .plain),
            ([.uploadLength: "5", .uploadOffset: "0"], .plain),
        ] as [(HTTPFields, UploadDialect)])
    func `a request is of one protocol`(fields: HTTPFields, dialect: UploadDialect) {
        #expect(UploadDialect.of(fields) == dialect)
    }
}
