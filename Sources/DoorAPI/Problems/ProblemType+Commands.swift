extension ProblemType {
    /// Problems of the API.
    static let commands = [
        ProblemType("action-not-found", "There is no such bulk action.", "The last hundred are kept; see /actions."),
        ProblemType(
            "command-changed", "The command has changed since the client read it (If-Match).",
            "Look at it, and send the request again with its ETag."),
        ProblemType("command-not-found", "There is no such command.", "It may have been removed after its end."),
        ProblemType(
            "destination-forbidden", "Commands over HTTP may not talk to this origin.",
            "Use another one, or add it to door.submit.destinations."),
        ProblemType("empty-filter", "A bulk action would change every command.", "Send a filter, or “all”: true."),
        ProblemType(
            "insufficient-storage", "The disk of the server has too little room.", "Make room, and send it again."),
        ProblemType("invalid-body", "A member of the body is unknown, or of another form.", "Correct the member."),
        ProblemType("invalid-command", "The command cannot be submitted as it is.", "Correct what the detail names."),
        ProblemType(
            "invalid-flow", "The flow cannot be submitted as it is.", "Correct the line that the detail names."),
        ProblemType("invalid-json", "The text is not valid JSON.", "Send JSON as RFC 8259 defines it."),
        ProblemType("invalid-query", "A parameter of the query is unknown, or of another form.", "Correct it."),
        ProblemType("invalid-source", "The file of a command cannot be used.", "Name a regular, readable file."),
        ProblemType("limit-not-found", "There is no rate limit of that name.", "See /limits."),
        ProblemType("link-not-found", "There is no such link.", "See /links for those that are known."),
        ProblemType("no-result", "The command has no result.", "Wait for its end."),
        ProblemType(
            "payload-forbidden", "The payload reaches for a file, a program or an address of the server.",
            "Leave the member out; a route of sluice.yaml may do it instead."),
        ProblemType(
            "reference-forbidden", "The payload refers to the result of another command.",
            "Use a token with the scope read."),
        ProblemType("schedule-not-found", "There is no schedule of that name.", "See /schedules."),
        ProblemType(
            "source-forbidden", "The payload names a file that clients may not send.",
            "Upload the file, or name one beneath a directory of door.submit.sources."),
        ProblemType(
            "status-conflict", "The status of the command does not allow the change.", "Use a verb of “allowed”."),
        ProblemType("submit-forbidden", "The token may not submit such a command.", "Use another token."),
        ProblemType(
            "too-many-actions", "The maximum of bulk actions runs.", "Wait for one to end, or cancel one."),
        ProblemType("too-many-searches", "The maximum of searches runs.", "Send the request again after Retry-After."),
        ProblemType(
            "type-forbidden", "Commands of this type are not submitted over HTTP.",
            "Use another type, or add it to door.submit.types."),
        ProblemType(
            "unique-key-conflict", "A command with another payload or destination holds the unique key.",
            "Look at that command, or choose another key."),
        ProblemType("webhook-not-found", "No webhook endpoint of that name is known.", "See /webhooks."),
    ]
}
