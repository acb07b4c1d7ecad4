internal import CLinux
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import Work

/// Finds out by OPTIONS whether a URL takes uploads by tus, and remembers the answer for ``memory``.
///
/// Asked only where the payload leaves the protocol open, which is where the file has ``UploadPayload/smallFile`` or more
/// and no method was named. So a small file costs no request more, and many files into one directory cost one in five
/// minutes. The answer counts for that very URL: beside an endpoint there may be anything.
final class TusDiscovery: Sendable {
    /// For how long an answer is believed.
    static let memory: Int64 = 300_000_000_000
    /// Answers that are kept in memory.
    private static let most = 1024

    private struct Answer {
        var speaksTus: Bool
        var until: Int64
    }

    private let answers = Mutex<[String: Answer]>([:])

    /// - Throws: the failure of a destination that cannot be reached, or does not answer now: it may speak tus, and then a
    ///   PUT to this URL would be refused for good.
    func speaksTus(_ requests: UploadRequests) async throws -> Bool {
        let url = requests.upload.to
        let now = Int64(clinux_monotonic())
        if let answer = answers.withLock({ $0[url.text] }), now < answer.until { return answer.speaksTus }
        let record = await requests.send(.OPTIONS, url, withholding: ["content-type", "upload-metadata"])
        guard let status = record.status else {
            throw requests.failure(record, of: .OPTIONS, url) ?? CancellationError()
        }
        if [408, 425, 429, 502, 503, 504].contains(status), let failure = requests.failure(record, of: .OPTIONS, url) {
            throw failure
        }
        let speaksTus = (200..<300).contains(status) && Self.isTus(record)
        // The upload itself will hear why; nothing is learnt of the destination from it.
        guard status < 500 || status == 501, status != 401 else { return speaksTus }
        answers.withLock { answers in
            if answers.count >= Self.most { answers.removeAll(keepingCapacity: true) }
            answers[url.text] = Answer(speaksTus: speaksTus, until: now + Self.memory)
        }
        return speaksTus
    }

    /// It speaks this version, and lets clients create uploads.
    private static func isTus(_ record: HTTPRecord) -> Bool {
        func lists(_ header: String, _ word: String) -> Bool {
            (record.header(header) ?? "").split(separator: ",").contains { $0.drop { $0 == " " } == word }
        }
        let isVersion = lists("tus-version", TusUpload.version) || lists("tus-resumable", TusUpload.version)
        return isVersion && lists("tus-extension", "creation")
    }
}
