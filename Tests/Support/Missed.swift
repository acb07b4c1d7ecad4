/// A condition that a test needs and that does not hold, for example an event that did not arrive in time.
package struct Missed: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}
