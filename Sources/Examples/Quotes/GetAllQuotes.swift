public import Sluice

/// Downloads the list of quotes, imports it, and tells a receiver how many there are.
public func getAllQuotes(
    from list: String, tell receiver: String, with client: SluiceClient
) throws -> FlowDraft {
    let download = try client.node("download", "download", payload: ["url": .string(list), "to": "/var/lib/quotes/"])
    let table = try client.node("import", "import-quotes", payload: ["file": .result("download/path")])
    let notify = try client.node(
        "notify", "request",
        payload: ["url": .string(receiver), "method": "POST", "json": ["rows": .result("import/rows")]])
    return FlowDraft("get-all-quotes", nodes: [download, table, notify])
}
