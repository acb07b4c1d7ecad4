/// The required tests of lifetimes and ages.
enum RequiredFreshness {
    static let cases = lifetimes + parsing + ages + expires + invalidExpires

    private static let lifetimes: [CacheCase] = [
        .reply("freshness-max-age-stale", "Cache-Control: max-age=2 | Date: @0 | Template-A: 1", then: .asked),
        .reply("freshness-max-age-0", "Cache-Control: max-age=0", then: .asked),
        .reply("freshness-max-age-age", "Date: @0 | Cache-Control: max-age=3600 | Age: 7200", then: .asked),
        .reply("freshness-max-age-0-expires", "Expires: @3600 | Cache-Control: max-age=0 | Date: @0", then: .asked),
        .reply("freshness-max-age-negative", "Cache-Control: max-age=-3600", then: .asked),
        .reply("freshness-max-age-s-maxage-private", "Cache-Control: s-maxage=3600, max-age=1", then: .asked),
        .reply(
            "freshness-max-age-s-maxage-private-multiple",
            "Cache-Control: s-maxage=3600 | Cache-Control: max-age=1", then: .asked),
        .reply("freshness-s-maxage-shared", "Cache-Control: s-maxage=3600", shared: true, then: .stored),
        .reply(
            "freshness-max-age-s-maxage-shared-longer", "Cache-Control: max-age=3600, s-maxage=1", shared: true,
            then: .asked),
        .reply(
            "freshness-max-age-s-maxage-shared-longer-reversed", "Cache-Control: s-maxage=1, max-age=3600",
            shared: true, then: .asked),
        .reply(
            "freshness-max-age-s-maxage-shared-longer-multiple",
            "Cache-Control: max-age=3600 | Cache-Control: s-maxage=1", shared: true, then: .asked),
    ]

    private static let parsing: [CacheCase] = [
        .reply(
            "freshness-max-age-ignore-quoted", #"Cache-Control: extension="max-age=3600", max-age=1"#, then: .asked),
        .reply(
            "freshness-max-age-ignore-quoted-rev", #"Cache-Control: max-age=1, extension="max-age=3600""#,
            then: .asked),
        .reply("freshness-max-age-leading-zero", "Cache-Control: max-age=003600", then: .stored),
        .reply("freshness-max-age-single-quoted", "Cache-Control: max-age='3600'", then: .asked),
    ]

    /// Values of `Age` with a lifetime of an hour, or 10,000 s.
    private static let ages: [CacheCase] = [
        ("nonnumeric", "Age: abc", CacheCase.Expectation.stored), ("negative", "Age: -7200", .stored),
        ("float", "Age: 7200.0", .stored), ("large-minus-one", "Age: 2147483647", .asked),
        ("large", "Age: 2147483648", .asked), ("larger", "Age: 2147483649", .asked),
        ("suffix", "Age: 7200, 0", .asked), ("prefix", "Age: 0, 7200", .stored),
        ("suffix-twoline", "Age: 7200 | Age: 0", .asked), ("prefix-twoline", "Age: 0 | Age: 7200", .stored),
        ("dup-0", "Age: 0, 0", .stored), ("dup-0-twoline", "Age: 0 | Age: 0", .stored),
        ("dup-old", "Age: 3600 | Age: 3600", .stored),
    ].map { name, age, expected in
        let lifetime = name == "dup-old" ? 10_000 : 3600
        return .reply("age-parse-\(name)", "Date: @0 | Cache-Control: max-age=\(lifetime) | \(age)", then: expected)
    }

    private static let expires: [CacheCase] = [
        .reply("freshness-expires-past", "Expires: @-2592000 | Date: @0", then: .asked),
        .reply("freshness-expires-present", "Expires: @0 | Date: @0", waits: false, then: .asked),
        .reply("freshness-expires-old-date", "Expires: @300 | Date: @400", then: .asked),
        .reply("freshness-expires-invalid", "Expires: 0 | Date: @0", then: .asked),
        .reply(
            "freshness-expires-age-slow-date", "Date: @-10 | Expires: @10 | Age: 25", waits: false, then: .asked),
        .reply("freshness-expires-age-fast-date", "Date: @10 | Expires: @20 | Age: 15", waits: false, then: .asked),
    ]

    /// Texts that are almost dates.
    private static let invalidExpires: [CacheCase] = [
        ("utc", "Expires: Thu, 18 Aug 2050 02:01:18 UTC"), ("aest", "Expires: Thu, 18 Aug 2050 02:01:18 AEST"),
        ("2-digit-year", "Expires: Thu, 18 Aug 50 02:01:18 GMT"),
        ("no-comma", "Expires: Thu 18 Aug 2050 02:01:18 GMT"),
        ("multiple-spaces", "Expires: Thu, 18  Aug  2050 02:01:18 GMT"),
        ("date-dashes", "Expires: Thu, 18-Aug-2050 02:01:18 GMT"),
        ("time-periods", "Expires: Thu, 18 Aug 2050 02.01.18 GMT"),
        ("1-digit-hour", "Expires: Thu, 18 Aug 2050 2:01:18 GMT"),
        ("multiple-lines", "Expires: Thu, 18 Aug 2050 2:01:18 GMT | Expires: Thu, 18 Aug 2050 2:01:19 GMT"),
    ].map { name, expires in
        .reply("freshness-expires-invalid-\(name)", "\(expires) | Date: @0", then: .asked)
    }
}
