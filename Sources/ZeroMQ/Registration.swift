/// What `PollLoop.whenReadable` returns and `PollLoop.remove` takes.
package struct Registration: Hashable, Sendable {
    let number: Int
}
