internal import Transfers

/// The parts of a payload that decide about requests.
struct DownloadTerms: Sendable, Equatable {
    /// The source, for messages.
    var url: String
    var checksum: Checksum?
    var size: Int64?
    /// 0: no limit.
    var maxBytes: Int64 = 0
    /// The validators of the target, for “ifChanged”.
    var condition: DownloadValidators?
}

extension DownloadTerms {
    init(_ payload: DownloadPayload, condition: DownloadValidators?) {
        self.init(
            url: payload.url.displayText, checksum: payload.checksum, size: payload.size, maxBytes: payload.maxBytes,
            condition: payload.ifChanged ? condition : nil)
    }
}
