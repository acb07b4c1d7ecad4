internal import Commands
internal import Console

/// A batch as lines of text. Pure.
enum BatchText {
    static func lines(_ batch: BatchState, now: Timestamp) -> [String] {
        let end = batch.command.status.isFinal ? batch.command.updatedAt : now
        var facts = [
            batch.command.status.word,
            "\(Figures.grouped(Int64(batch.members - batch.open))) of \(Figures.grouped(Int64(batch.members))) ended",
        ]
        if batch.failed > 0 { facts.append("\(Figures.grouped(Int64(batch.failed))) failed") }
        facts.append((end - batch.command.createdAt).roundText)
        var lines = [
            (batch.name.isEmpty ? "" : "\(TerminalText.cut(batch.name, width: 40)) ") + batch.command.id.description,
            "  " + facts.joined(separator: " · "),
        ]
        if !batch.isSealed, !batch.command.status.isFinal {
            lines.append("  open: it takes more members, and ends after “sluice batch seal \(batch.command.id)”")
        }
        if batch.command.cancelRequested { lines.append("  it is being cancelled") }
        if batch.failed > 0 {
            lines.append("  “sluice list --batch \(batch.command.id) --status gaveUp” lists those that failed")
        }
        return lines
    }
}
