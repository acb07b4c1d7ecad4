import Glibc

/// An error in a sentence.
struct Refusal: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }

    /// The error of the last system call.
    static func system(_ what: String) -> Refusal { Refusal("\(what): \(String(cString: strerror(errno)))") }
}
