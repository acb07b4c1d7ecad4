internal import CLinux
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import Work

/// Finds out by OPTIONS whether a URL takes uploads by tus, and remembers the answer for ``memory``.
///
/// Asked only where the payload leaves the protocol open, which is where the file has ``UploadPayload/smallFile`` or
/// more and no method was named. So a small file costs no request more, and many files into one directory cost one in
/// five minutes. The answer counts for that very URL: beside an endpoint there may be anything.
final class TusDiscovery: Sendable {
    /// For how long an answer is believed.
    static let memory: Int64 = 300_000_000_000
    /// Answers that are kept in memory.
    private static let maxAnswers = 1024

    /// What a URL answered.
    struct Answer: Sendable, Equatable {
        var speaksTus: Bool
        /// `Tus-Max-Size` in bytes; nil: not stated.
        var maxSize: Int64?
    }

    private let answers = Mutex<[String: (answer: Answer, until: Int64)]>([:])

    /// - Throws: the failure of a destination that cannot be reached, or does not answer now: it may speak tus, and
    ///   then a PUT to this URL would be refused for good.
    func ask(_ requests: UploadRequests) async throws -> Answer {
        let url = requests.upload.to
        let now = Int64(clinux_monotonic())
        if let answer = answers.withLock({ $0[url.text] }), now < answer.until { return answer.answer }
        let record = await requests.send(.OPTIONS, url, withholding: ["content-type", "upload-metadata"])
        guard let status = record.status else {
            throw requests.failure(record, of: .OPTIONS, url) ?? CancellationError()
        }
        if [408, 425, 429, 502, 503, 504].contains(status), let failure = requests.failure(record, of: .OPTIONS, url) {
            throw failure
        }
        let speaksTus = (200..<300).contains(status) && Self.isTus(record)
        let answer = Answer(speaksTus: speaksTus, maxSize: record.count("tus-max-size"))
        // The upload itself will hear why; nothing is learnt of the destination from it.
        guard status < 500 || status == 501, status != 401 else { return answer }
        answers.withLock { answers in
            if answers.count >= Self.maxAnswers { answers.removeAll(keepingCapacity: true) }
            answers[url.text] = (answer, now + Self.memory)
        }
        return answer
    }

    /// It speaks this version, and lets clients create uploads.
    private static func isTus(_ record: HTTPRecord) -> Bool {
        let isVersion = (record.list("tus-version") + record.list("tus-resumable")).contains(TusDialect.version)
        return isVersion && record.list("tus-extension").contains("creation")
    }
}
