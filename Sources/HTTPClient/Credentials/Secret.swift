internal import CLinux
internal import Glibc
internal import Host

/// A reference to a secret.
package enum Secret: Sendable, Equatable {
    /// A file that only its owner may read. A line break at its end is not part of the secret.
    case file(String)
    /// An environment variable of the process.
    case environment(String)

    /// The maximum length of a secret in bytes.
    static let maxLength = 16 << 10

    /// Reads the secret. Blocks while it reads a file.
    /// - Throws: ``SecretError``, which never quotes the secret.
    package func read() throws(SecretError) -> String {
        let bytes: [UInt8]
        switch self {
        case .environment(let name):
            guard let value = getenv(name) else { throw SecretError("the environment variable \(name) is not set") }
            bytes = Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
        case .file(let path): bytes = try Self.contents(of: path)
        }
        guard !bytes.isEmpty else { throw SecretError("\(self) is empty") }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), let text = String(validating: bytes, as: UTF8.self) else {
            throw SecretError("\(self) must hold one line of text")
        }
        return text
    }

    /// The bytes of a file that only its owner may read, without line breaks at its end. Blocks.
    static func contents(of path: String) throws(SecretError) -> [UInt8] {
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
        guard descriptor >= 0 else { throw SecretError("the secret file \(path) cannot be opened: \(SystemError())") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SecretError("the secret file \(path) is not a regular file")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw SecretError("the secret file \(path) can be read by others; run: chmod 600 \(path)")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw SecretError("the secret file \(path) belongs to another user; run: chown \(geteuid()) \(path)")
        }
        var bytes = [UInt8](repeating: 0, count: maxLength + 1)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw SecretError("the secret file \(path) cannot be read: \(SystemError())") }
        guard count <= maxLength else { throw SecretError("the secret file \(path) is longer than \(maxLength) bytes") }
        bytes.removeSubrange(count...)
        while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
        return bytes
    }
}

extension Secret: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let path): "the secret file \(path)"
        case .environment(let name): "the environment variable \(name)"
        }
    }
}

/// Why a secret cannot be read, in a sentence that does not quote it.
package struct SecretError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
