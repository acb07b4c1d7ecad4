internal import CLinux
internal import Commands
internal import Operations

/// Returns the monotonic time of its start as the result.
struct StampOperation: CommandOperation {
    let type = "bench.stamp"

    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        PayloadAttributes(destination: .none, idempotent: true)
    }

    func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        JSONValue.object([.init("at", .integer(clinux_monotonic()))]).bytes
    }
}
