/// The state of the network to a destination, as a test sets it.
public enum NetworkState: Sendable, Equatable {
    /// Commands to the destination run.
    case online
    /// Commands to the destination wait, uncharged. One that runs is released, if it may be executed again.
    case offline
}
