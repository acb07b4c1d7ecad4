package import Commands

/// One row of the policy: what each quality may do, and how many transfers of middle and low quality may run.
package struct PolicyRow: Sendable, Equatable {
    package var verbs: [QualityOfService: PolicyVerb]
    package var limit: Int

    /// - Parameter verbs: from `userInteractive` to `background`.
    package init(_ verbs: PolicyVerb..., limit: Int) {
        self.verbs = Dictionary(zip(QualityOfService.allCases, verbs)) { first, _ in first }
        self.limit = limit
    }

    package subscript(qos: QualityOfService) -> PolicyVerb {
        get { verbs[qos] ?? .run }
        set { verbs[qos] = newValue }
    }
}
