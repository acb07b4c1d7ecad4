internal import Door
internal import UploadSpool
internal import Uploads

/// The room of the spool, for a person.
struct SpoolView {
    let figures: SpoolFigures

    /// Nil where the disk cannot be asked.
    static func read(_ visit: Visit) async -> SpoolView? {
        do throws(UploadError) {
            return SpoolView(figures: try await visit.services.context.uploads.spoolFigures())
        } catch {
            return nil
        }
    }

    /// Why uploads of any size are refused; nil while there is room.
    var problem: String? { figures.problem }

    var html: HTML {
        tag(.p, .class(problem == nil ? "dim" : "bad"), .live("spool")) {
            "Spool: \(figures.summary)."
            if let problem { " \(problem.prefix(1).uppercased())\(problem.dropFirst())." }
        }
    }
}
