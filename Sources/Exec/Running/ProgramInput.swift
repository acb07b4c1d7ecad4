internal import Glibc

/// The bytes of a program's standard input that are not written yet.
struct ProgramInput {
    private var bytes: [UInt8] = []
    private var offset = 0

    init() {}

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isDone: Bool { offset == bytes.count }

    /// Writes as much as the pipe takes.
    /// - Returns: whether the input is done: everything is written, or the program has closed it. A program
    ///   need not read its input, so that is not an error.
    mutating func write(to descriptor: CInt) -> Bool {
        while !isDone {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else { return errno != EAGAIN }
            offset += count
        }
        return true
    }
}
