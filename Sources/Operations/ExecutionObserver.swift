/// Hears of the steps of executions, on their tasks: for tests of operations.
///
/// A step goes on when the call returns.
package protocol ExecutionObserver: Sendable {
    /// The operation is called next, with this execution.
    func started(_ execution: CommandExecution) async
    /// A checkpoint is in the store.
    func saved(_ checkpoint: [UInt8]) async
    /// The operation has reported its progress, in bytes. Blocks the operation.
    func progressed(offset: Int64, total: Int64)
}
