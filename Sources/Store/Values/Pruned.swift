internal import Commands

/// What a batch of pruning has deleted.
package struct Pruned: Sendable, Equatable {
    /// Commands.
    package var count = 0
    /// Payloads of those that did not end in success: files that they name may be nobody's now.
    package var abandoned: [[UInt8]] = []

    package init() {}
}
