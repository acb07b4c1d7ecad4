internal import Door
internal import Hummingbird

/// An error for a person.
struct ProblemPage {
    let visit: Visit
    let problem: Problem

    init(_ visit: Visit, _ problem: Problem) {
        self.visit = visit
        self.problem = problem
    }

    var response: Response {
        let frame = PageFrame(visit, title: problem.title, section: nil, isLive: false)
        var response = PageFields.page(
            frame.html(
                tag(.section, .class("narrow")) {
                    tag(.h1) { problem.title }
                    tag(.p) { problem.detail }
                    tag(.p, .class("dim")) { "Status \(problem.status.code) · request \(visit.request.id)" }
                    tag(.p) {
                        // Without a session the overview leads to the login.
                        let isOverview = visit.mayRead || visit.principal == nil
                        tag(.a, .href(visit.url(isOverview ? .overview : visit.mayUpload ? .upload : .login))) {
                            isOverview ? "Overview" : visit.mayUpload ? "Upload" : "Log in"
                        }
                    }
                }), status: problem.status)
        response.headers.append(contentsOf: problem.fields)
        return response
    }
}
