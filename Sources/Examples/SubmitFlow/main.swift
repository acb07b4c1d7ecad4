// Submits a flow: download a list, make it a local table, tell a receiver how many rows there are.
//
//     sluice up &
//     submit-flow ./sluice-data https://q.example.com/all.json https://hooks.example.com/quotes
//
// The whole flow is on disk before its id is printed. Kill this program, or the machine: the flow goes on.

import Glibc
import Sluice

/// Makes the flow.
func quotes(from list: String, tell receiver: String, with client: SluiceClient) throws -> FlowDraft {
    let sync = try client.node("sync", "sync", payload: ["url": .string(list), "collection": "quotes"])
    let notify = try client.node(
        "notify", "request",
        payload: ["url": .string(receiver), "method": "POST", "json": ["rows": .result("sync/records")]])
    let report = try client.node("report", "noop", after: ["notify": .end])
    var flow = FlowDraft("get-all-quotes", nodes: [sync, notify, report])
    flow.callbacks = [
        try client.callback(
            on: .failure, "request",
            payload: ["url": .string(receiver), "method": "POST", "json": ["failed": ["$flow": "id"]]])
    ]
    return flow
}

/// Prints what each node does, or waits for.
func show(_ id: CommandID, with client: SluiceClient) async throws {
    guard let flow = try await client.flow(id) else { return print("\(id) is not a flow") }
    print("\(flow.name): \(flow.nodes - flow.open) of \(flow.nodes) ended, \(flow.failed) failed")
    for node in try await client.nodes(of: id) {
        print("\(node.name ?? "callback"): \(node.command.status) \(node.command.reason ?? "")")
    }
}

let arguments = CommandLine.arguments
/// The URL of a store on a server; nil: the store is in the data directory.
let store = getenv("SLUICE_STORE").map { String(cString: $0) }
guard arguments.count == 4 else {
    print("usage: submit-flow DATA LIST RECEIVER")
    exit(64)
}
do {
    let client = try SluiceClient(data: arguments[1], store: store)
    let flow = try quotes(from: arguments[2], tell: arguments[3], with: client)
    let id = try await client.submit(flow)
    print("submitted \(id)")
    let outcome = try await client.wait(for: id)
    try await show(id, with: client)
    await client.close()
    exit(outcome.isSuccess ? 0 : 1)
} catch {
    print("submit-flow: \(error)")
    exit(1)
}
