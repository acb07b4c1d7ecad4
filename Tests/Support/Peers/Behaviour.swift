/// What a ``MisbehavingReceiver`` does with a request.
package enum Behaviour: Sendable {
    /// How far a request has come.
    package enum Point: Sendable {
        /// Its head was read.
        case head
        /// So many bytes of its body were read.
        case bytes(Int)
        /// All of it was read.
        case body
        /// All of it was read, and the head of a 200 with a body of 100 bytes was answered.
        case answerHead
    }

    /// Reads the request, then answers.
    case answer(Int, headers: [String: String] = [:], body: String = "")
    /// Answers as soon as so many bytes of the body were read, and then closes or reads on.
    case answerEarly(Int, afterBytes: Int = 0, body: String = "", closes: Bool)
    /// Reads no faster than this, then answers 201.
    case slow(bytesPerSecond: Int)
    /// Ends the connection with a reset.
    case reset(Point)
    /// Closes the connection.
    case close(Point)
    /// Neither reads nor writes from here on.
    case hang(Point)
    /// Answers 200 with fewer bytes of body than it announced, and closes.
    case wrongLength(announced: Int, sent: Int)
    /// Answers something that is not HTTP.
    case garbage
    /// Answers 201 and closes the connection a moment later without having said so.
    case answerAndClose
}
