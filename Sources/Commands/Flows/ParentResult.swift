/// The end of a command that another one depends on, for references to its result.
package struct ParentResult: Sendable, Equatable {
    /// Ascending among the parents of a command, and in a flow the order of its nodes.
    package var position: Int64
    package var id: CommandID
    /// Its name in its flow; nil outside of one.
    package var name: String?
    package var status: CommandStatus
    /// JSON; nil where it has not succeeded, or has returned none.
    package var result: [UInt8]?

    package init(position: Int64, id: CommandID, name: String?, status: CommandStatus, result: [UInt8]?) {
        self.position = position
        self.id = id
        self.name = name
        self.status = status
        self.result = result
    }
}
