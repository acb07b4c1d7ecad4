import Commands
import HTTPClient
import Testing

@testable import FileOps
@testable import Transfers

@Suite struct DownloadValidatorsTests {
    private static let old = "Fri, 14 Nov 2025 08:00:00 GMT"

    private static func validators(
        _ tag: String?, _ lastModified: String? = nil, date: String? = "Fri, 21 Nov 2025 10:00:00 GMT"
    ) -> DownloadValidators {
        DownloadValidators(
            tag: tag, lastModified: lastModified, date: date.flatMap { RetryAfter.date($0) })
    }

    @Test(arguments: [
        ("\"a\"", false), ("W/\"a\"", true), ("\"\"", false), ("\"a'()<>,;\"", false),
    ])
    func `a tag has quotes and may be weak`(_ field: String, _ isWeak: Bool) {
        let tag = DownloadValidators(tag: field).tag
        #expect(tag?.text == field)
        #expect(tag?.isWeak == isWeak)
    }

    @Test(arguments: ["", "a", "\"", "w/\"a\"", "W/a", "\"a\"b\"", "\"a b\"", "\"é\"", "\"a\u{7F}\"", "W/"])
    func `a tag of any other form is left out, and no date is strong beside it`(_ field: String) {
        let validators = Self.validators(field, Self.old)
        #expect(validators.tag == nil)
        #expect(validators.ifRange == nil)
        #expect(validators.comparison(with: validators) == .unknown)
    }

    @Test(arguments: [
        ("\"a\"", nil, "\"a\""), ("\"a\"", old, "\"a\""), (nil, old, old), (nil, nil, nil),
        // A weak tag must not stand in If-Range, and a date must not stand beside a tag.
        ("W/\"a\"", nil, nil), ("W/\"a\"", old, nil),
        (nil, "Fri, 21 Nov 2025 09:59:00 GMT", "Fri, 21 Nov 2025 09:59:00 GMT"),
        (nil, "Fri, 21 Nov 2025 09:59:01 GMT", nil), (nil, "Fri, 21 Nov 2025 10:00:01 GMT", nil),
        (nil, "yesterday", nil),
    ])
    func `If-Range has a strong validator`(_ tag: String?, _ lastModified: String?, _ ifRange: String?) {
        #expect(Self.validators(tag, lastModified).ifRange == ifRange)
        if tag == nil { #expect(Self.validators(nil, lastModified, date: nil).ifRange == nil) }
    }

    private static let comparisons: [(DownloadValidators, DownloadValidators, DownloadValidators.Comparison)] = [
        (validators("\"a\""), validators("\"a\""), .same),
        (validators("\"a\"", old), validators("\"a\"", "Fri, 14 Nov 2025 08:00:01 GMT"), .same),
        (validators("\"a\""), validators("\"b\""), .different),
        (validators("\"a\"", old), validators("\"b\"", old), .different),
        (validators("\"a\""), validators("W/\"a\""), .unknown),
        (validators("W/\"a\""), validators("W/\"a\""), .unknown),
        (validators("W/\"a\""), validators("W/\"b\""), .different),
        (validators("\"a\"", old), validators(nil, old), .unknown),
        (validators("\"a\"", old), validators(nil, "Fri, 14 Nov 2025 08:00:01 GMT"), .different),
        (validators("\"a\""), validators(nil), .unknown),
        (validators(nil, old), validators(nil, old), .same),
        (validators(nil, old), validators("\"a\"", old), .same),
        (validators(nil, old, date: nil), validators(nil, old), .unknown),
        (validators(nil, old), validators(nil, "Fri, 14 Nov 2025 08:00:01 GMT"), .different),
        (validators(nil, old), validators(nil), .unknown),
        (validators(nil), validators("\"a\"", old), .unknown),
    ]

    @Test(arguments: comparisons.indices) func `validators are compared`(_ index: Int) {
        let (known, answer, result) = Self.comparisons[index]
        #expect(known.comparison(with: answer) == result)
    }
}
