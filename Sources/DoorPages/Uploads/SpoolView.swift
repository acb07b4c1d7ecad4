internal import Console
internal import Door
internal import Uploads

/// The room of the spool, for a person.
struct SpoolView {
    let figures: SpoolFigures
    /// Of all uploads; nil without one.
    let quota: Int64?

    /// Nil where the disk cannot be asked.
    static func read(_ visit: Visit) async -> SpoolView? {
        let engine = visit.services.context.uploads
        do throws(UploadError) {
            return SpoolView(figures: try await engine.spoolFigures(), quota: engine.limits.quota)
        } catch {
            return nil
        }
    }

    /// Why uploads of any size are refused; nil while there is room.
    var problem: String? {
        if let quota, figures.used >= quota {
            return "uploads are refused: the spool has \(Figures.bytes(figures.used)), its quota is "
                + Figures.bytes(quota)
        }
        let free = max(figures.free - figures.promised, 0)
        guard free <= figures.floor else { return nil }
        return "uploads are refused: the disk of the spool has \(Figures.bytes(free)) free, of which "
            + "\(Figures.bytes(figures.floor)) must stay free"
    }

    var html: HTML {
        tag(.p, .class(problem == nil ? "dim" : "bad"), .live("spool")) {
            "Spool: \(Figures.bytes(figures.used))"
            if let quota { " of at most \(Figures.bytes(quota))" }
            "; its disk has \(Figures.bytes(figures.free)) free, of which \(Figures.bytes(figures.floor)) stay free."
            if let problem { " \(problem.prefix(1).uppercased())\(problem.dropFirst())." }
        }
    }
}
