package import Commands

/// The flow that a submit made or found.
package struct FlowSubmission: Sendable, Equatable {
    package var submission: Submission
    /// Nodes that may run now, at most ``maxReady``; none for an existing flow.
    package var ready: [ReadyCommand] = []

    static let maxReady = 256
}
