internal import Commands
internal import FlowText
internal import Glibc
internal import Host
internal import Queue

/// Reads the document of a flow.
enum FlowFile {
    /// The name of a file for errors; nil for standard input.
    static func name(_ path: String) -> String? { path == "-" ? nil : path }

    /// - Parameter path: `-` for standard input.
    static func document(_ path: String) throws -> FlowDocument {
        let bytes = try bytes(path)
        return try checked { () throws(FlowDocumentError) in
            try FlowDocument(parsing: bytes, file: name(path))
        }
    }

    /// The whole text.
    static func bytes(_ path: String) throws -> [UInt8] {
        try withDescriptor(path) { descriptor in
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw ExitError(.input, "\(SystemError("read the flow", path))") }
                if count == 0 { return bytes }
                bytes.append(contentsOf: buffer[..<count])
                guard bytes.count <= YAMLText.maxBytes else {
                    throw ExitError(
                        .data, "\(path) is larger than \(YAMLText.maxBytes >> 20) MiB; use --lines, or several flows")
                }
            }
        }
    }

    /// Reads JSON lines.
    static func lines(_ path: String) throws -> FlowDocument {
        try withDescriptor(path) { descriptor in
            var reader = LineReader(descriptor: descriptor, limit: 4 << 20)
            var lines = FlowLines(file: name(path))
            var document: FlowDocument?
            var number = 0
            while true {
                number += 1
                let line: [UInt8]
                switch try reader.next() {
                case .end:
                    try checked { () throws(FlowDocumentError) in try lines.finish() }
                    return document ?? FlowDocument()
                case .tooLong: throw ExitError(.data, "\(path):\(number): the line is larger than 4 MiB")
                case .line(let text): line = Array(text)
                }
                switch try checked({ () throws(FlowDocumentError) in try lines.read(line) }) {
                case .flow(let flow): document = flow
                case .node(let node): document?.nodes.append(node)
                case nil: break
                }
            }
        }
    }

    private static func checked<Value>(_ body: () throws(FlowDocumentError) -> Value) throws -> Value {
        do throws(FlowDocumentError) { return try body() } catch { throw ExitError(.data, error.description) }
    }

    private static func withDescriptor<Value>(_ path: String, _ body: (CInt) throws -> Value) throws -> Value {
        if path == "-" { return try body(StandardInput.descriptor) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ExitError(.input, "\(SystemError("open the flow", path))") }
        defer { close(descriptor) }
        return try body(descriptor)
    }
}

extension FlowDocument {
    /// The flow of the document: operations check the payloads.
    /// - Parameter file: the name of the document for errors; nil for standard input.
    /// - Throws: ``ExitError`` with file, line and node.
    func draft(_ data: DataOptions, file: String?) async throws -> FlowDraft {
        let registries = SubmitRegistries(data)
        let types = (nodes + callbacks.map(\.node)).map(\.type)
        let builder = FlowBuilder(registry: await registries.lookup(for: types))
        do throws(FlowBuildError) {
            return try builder.flow(self)
        } catch {
            let exitError = ExitError(error.cause)
            let place = FlowDocumentError(
                file: file, position: error.position, node: error.node,
                problem: exitError.message ?? "it cannot be used")
            throw ExitError(exitError.code, place.description)
        }
    }
}
