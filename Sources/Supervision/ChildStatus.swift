/// The state of a child at this moment.
package struct ChildStatus: Sendable, Equatable {
    /// Nil between a death and the restart.
    package let pid: Int32?
    package let restarts: Int
}
