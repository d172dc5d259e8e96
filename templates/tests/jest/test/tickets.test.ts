/** Tests the responses of the application, which runs in this process without a port and with its own database. */
import { afterAll, beforeEach, expect, test } from '@jest/globals'
import { testApplication } from 'filigree/testing'
import { administratorLinks } from '../src/administrators.js'
import { AppModule } from '../src/app-module.js'
import { Account } from '../src/records.js'
import { database } from './database.js'

const desk = await testApplication(AppModule, { database })
// The database is only for tests, so that its tables can be emptied.
beforeEach(() => desk.reset({ emptyTables: true }))
afterAll(() => desk.close())

/** A caller with an account. */
async function signedUp(name: string) {
  const { id } = await desk.records(Account).create({ name, passwordHash: 'none' })
  return desk.as({ sub: String(id) })
}

test('an account signs in, and adds a ticket', async () => {
  const credentials = { name: 'ann', password: 'a long password' }
  expect((await desk.anonymous.post('/accounts', credentials)).status).toBe(201)
  const { status, headers } = await desk.anonymous.post('/login', credentials)
  expect(status).toBe(200)
  const added = await desk.anonymous.post(
    '/tickets',
    { title: 'Printer' },
    { headers: { authorization: `Bearer ${headers.freshtoken}` } },
  )
  expect(added.status).toBe(201)
  expect(added.body.title).toBe('Printer')
})

test('a wrong password is refused', async () => {
  const body = { name: 'nobody', password: 'a long password' }
  expect((await desk.anonymous.post('/login', body)).status).toBe(401)
})

test('only a link makes an administrator, and only one', async () => {
  const password = 'a long password'
  await desk.anonymous.post('/accounts', { name: 'ann', password })
  const token = await administratorLinks.make(true)
  const use = (name: string) => desk.anonymous.post('/administrator', { token, name, password })
  const statuses = (await Promise.all([use('bob'), use('cem')])).map(({ status }) => status)
  expect(statuses.sort()).toEqual([303, 400])
  expect(await desk.records(Account).count({ isAdmin: true })).toEqual(1)
})

test('an account sees only its own tickets', async () => {
  const ann = await signedUp('ann')
  const bob = await signedUp('bob')
  const { body: ticket } = await ann.post('/tickets', { title: 'Printer' })
  expect((await bob.get('/tickets')).body).toEqual([])
  expect((await bob.get(`/tickets/${ticket.id}`)).status).toBe(404)
  expect((await desk.anonymous.get('/tickets')).status).toBe(401)
  const { data } = await ann.graphql('{ tickets { title account { name } } }')
  expect(data.tickets).toEqual([{ title: 'Printer', account: { name: 'ann' } }])
})

test('the summary counts open and finished tickets', async () => {
  const ann = await signedUp('ann')
  await ann.post('/tickets', { title: 'Printer' })
  const { body: lamp } = await ann.post('/tickets', { title: 'Lamp' })
  await ann.patch(`/tickets/${lamp.id}`, { done: true })
  expect((await ann.get('/tickets/summary')).body).toEqual({ open: 1, done: 1 })
})
