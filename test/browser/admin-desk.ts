/** Starts the help desk of `../admin/desk.ts` with enough rows for browser tests and pictures. */
import { bootstrap, Database, type Application } from 'filigree'
import { Comment, Contract, Desk, Device, Label, Org, Place, Plan, Ticket } from '../admin/desk.js'

const names = ['Northwind', 'Blue Harbour', 'Kestrel Labs', 'Oak & Sons', 'Vela Maritime']
const cities = ['Bergen', 'Porto', 'Kraków', 'Leeds', 'Trieste']
const subjects = [
  ...['Lamp in the hall flickers', 'Chair squeaks', 'Table is too low', 'No network on floor 3'],
  ...['Printer prints upside down', 'Coffee machine is cold', 'Fire door does not close'],
  ...['Badge is not read', 'Window cannot be opened', 'Invoice shows the old address'],
]

/** Thirty tickets of five organisations, the third of Kestrel Labs. Hidden values have distinct texts. */
export async function fillDesk(database: Database): Promise<void> {
  for (const [index, name] of names.entries())
    await database.records(Org).create({ name, city: cities[index] })
  for (const name of ['hardware', 'building', 'urgent', 'billing'])
    await database.records(Label).create({ name })
  for (let index = 0; index < 30; index++) {
    const subject = subjects[index % 10]!
    await database.records(Ticket).create({
      subject: index < 10 ? subject : `${subject} again (${index})`,
      orgId: (index % 5) + 1,
      status: ['open', 'waiting', 'closed'][index % 3]!,
      priority: (index * 7) % 10,
      due: index % 4 === 3 ? null : `2026-12-${String(1 + (index % 28)).padStart(2, '0')}`,
      hours: index % 2 === 0 ? '1.50' : null,
      urgent: index % 7 === 0,
      body: 'Since Monday. We tried to turn it off and on again, without any change.',
      keywords: ['office', `floor ${index % 4}`],
      place: Object.assign(new Place(), { street: `Quay ${index + 3}`, town: cities[index % 5]! }),
      salary: `pay grade ${index}`,
      labels: { connect: [(index % 4) + 1] },
    })
  }
  for (const text of ['A technician comes on Friday.', 'The part was ordered.'])
    await database.records(Comment).create({ ticketId: 1, text })
  const terms = 'Answers within a day.\nA month ahead, either side may leave.'
  for (const [index, code] of ['Small', 'Large'].entries())
    await database.records(Plan).create({ code, seats: 5 + index * 45, terms })
  for (const [index, code] of ['NW-1', 'BH-7', 'KL-12'].entries())
    await database.records(Contract).create({
      code,
      fee: `${index + 1}250.00`,
      orgId: index + 1,
      planId: 1,
      signedAt: '2026-03-01T09:30:00.000Z',
    })
  let parentId: string | null = null
  for (const name of ['Rack', 'Switch of floor 3', 'Printer by the stairs'])
    ({ id: parentId } = await database.records(Device).create({ name, orgId: 2, parentId }))
}

export async function startDesk(): Promise<Application> {
  const app = await bootstrap(Desk, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
    ...{ database: 'sqlite::memory:', auth: { cookie: true } },
  })
  await fillDesk(app.get(Database))
  return app
}
