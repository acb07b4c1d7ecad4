import Commands
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct FetchResultTests {
    private let stored = Exchanges.stored([("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Age", "7")])

    private func text(_ result: FetchResult) -> String {
        var writer = JSONWriter()
        writer.value(.object(result.members))
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `a fresh stored response has its age and its time left`() {
        let result = FetchResult(StoredAnswer(response: stored), now: Exchanges.now + .milliseconds(3500))
        #expect(
            text(result) == #"{"source":"stored","status":200,"age":10,"stale":false,"changed":false,"bytes":4,"#
                + #""sha256":"digest of body","freshFor":49,"etag":"\"a\""}"#)
        #expect(result.headers.values("age") == ["10"])
    }

    @Test(arguments: StaleReason.allCases) func `a stale response says why it is shown`(_ reason: StaleReason) {
        let answer = StoredAnswer(response: stored, staleBecause: reason)
        let result = FetchResult(answer, now: Exchanges.now + .seconds(100))
        #expect(text(result).contains(#""stale":true,"staleBecause":"\#(reason.rawValue)""#))
        #expect(result.freshFor == .zero && result.headers.values("age") == ["107"])
    }

    @Test func `a response from the network keeps its headers`() {
        let result = FetchResult(stored, source: .network, changed: true, now: Exchanges.now + .seconds(2))
        #expect(result.headers.values("age") == ["7"] && result.age == .seconds(9) && result.changed)
        #expect(text(result).hasPrefix(#"{"source":"network","status":200,"age":9,"stale":false,"changed":true"#))
    }

    @Test func `an age that is unknown is null, and has no header`() {
        let result = FetchResult(StoredAnswer(response: stored, staleBecause: .offline), now: .zero)
        #expect(text(result).contains(#""age":null,"stale":true"#) && !result.headers.contains("age"))
    }

    @Test func `a withheld result has only source and status`() {
        var result = FetchResult(stored, source: .network, changed: true, now: Exchanges.now)
        result.withhold()
        #expect(text(result) == #"{"source":"network","status":200}"#)
        #expect(result.headers == HeaderFields() && result.etag == nil && result.bytes == 0 && result.sha256 == "")
    }

    @Test func `a guessed lifetime leaves no time without a question`() {
        let guessed = Exchanges.stored([("Last-Modified", "@-1000")])
        let result = FetchResult(StoredAnswer(response: guessed), now: Exchanges.now)
        #expect(!result.isStale && result.freshFor == .zero)
    }

    @Test func `each answer has the stage of its event`() {
        func stage(_ source: FetchSource, _ reason: StaleReason? = nil, first: Bool = false) -> FetchStage {
            var result = FetchResult(stored, source: source, changed: false, now: Exchanges.now)
            result.staleBecause = reason
            return result.stage(isFirst: first)
        }
        #expect(stage(.network) == .fresh && stage(.notModified) == .notModified && stage(.stored) == .stored)
        #expect(stage(.stored, .asking, first: true) == .stored && stage(.stored, .offline) == .stale)
        #expect(FetchStage.allCases.map(\.rawValue) == ["stored", "fresh", "notModified", "stale", "failed"])
        #expect(FetchSource.allCases.map(\.rawValue) == ["network", "notModified", "stored"])
    }
}
