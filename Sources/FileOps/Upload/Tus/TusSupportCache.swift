internal import HTTPClient
internal import Host
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import Transfers

/// Queries by OPTIONS whether a URL accepts uploads by tus, and remembers the answer for ``lifetime``.
///
/// Only payloads without a protocol need this: those of files of at least ``UploadPayload/smallFile`` without
/// a method. So a small file costs no additional request, and many files into one directory cost one every
/// five minutes. An answer is valid for its URL only, because other URLs beside an endpoint may be different.
final class TusSupportCache: Sendable {
    /// How long an answer is valid.
    static let lifetime: Duration = .seconds(300)
    /// The maximum answers in memory.
    private static let maxAnswers = 1024

    private let answers = Mutex<[String: (support: TusSupport, until: MonotonicTime)]>([:])

    /// - Throws: the failure of a destination that is unavailable. It may speak tus, and then a PUT to this
    ///   URL would fail for good.
    func support(for requests: UploadRequests) async throws -> TusSupport {
        let url = requests.upload.to
        let now = MonotonicTime.now
        if let answer = answers.withLock({ $0[url.text] }), now < answer.until { return answer.support }
        let record = await requests.send(.OPTIONS, url, withholding: ["content-type", "upload-metadata"])
        guard let status = record.status else {
            throw requests.failure(record, of: .OPTIONS, url) ?? CancellationError()
        }
        if [408, 425, 429, 502, 503, 504].contains(status), let failure = requests.failure(record, of: .OPTIONS, url) {
            throw failure
        }
        let speaksTus = (200..<300).contains(status) && Self.isTus(record)
        let support = TusSupport(speaksTus: speaksTus, maxSize: record.count("tus-max-size"))
        // The upload itself gets the same failure. It says nothing about tus, so it is not remembered.
        guard status < 500 || status == 501, status != 401 else { return support }
        answers.withLock { answers in
            if answers.count >= Self.maxAnswers { answers.removeAll(keepingCapacity: true) }
            answers[url.text] = (support, now + Self.lifetime)
        }
        return support
    }

    /// Whether the destination supports this version and the creation of uploads.
    private static func isTus(_ record: HTTPRecord) -> Bool {
        let isVersion = (record.list("tus-version") + record.list("tus-resumable")).contains(TusDialect.version)
        return isVersion && record.list("tus-extension").contains("creation")
    }
}
