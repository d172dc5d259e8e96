/** The rows of the row about idle connections. */
export const firstTicket = { id: 1, title: 'Printer', status: 'open' }
export const nextTicket = { id: 2, title: 'Screen', status: 'open' }
