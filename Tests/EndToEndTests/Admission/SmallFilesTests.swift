import Testing

extension EndToEndTests.NetworkEvaluationTests {
    /// Files with few bytes or none.
    private static let smallFiles = [
        // The climb to 64 transfers takes 10 to 13 s of each half.
        Form(scenario: "empty-files", seconds: 36, figures: [("rate against files of 1 kB (%)", 70...150)]),
        Form(scenario: "max-rate-small-files", seconds: 36, figures: [("rate with maxRate (%)", 70...150)]),
        Form(scenario: "small-after-large", seconds: 40, figures: [("recovered to 90 % after (s)", 0...8)]),
    ]

    @Test(arguments: smallFiles) func `small files are uploaded at their full rate`(_ form: Form) async throws {
        try await Self.run(form)
    }
}
