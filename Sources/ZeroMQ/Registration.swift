/// Names an entry of a loop: returned by `PollLoop.whenReadable`, taken by `PollLoop.remove`.
package struct Registration: Hashable, Sendable {
    let number: Int
}
