/** A sharded record on Citus over HTTP, beside the same work by hand. TEST_CITUS_URL names a coordinator; it gets one table. */
import pg from 'pg'
import { measureLoad } from '../harness/load-row.mjs'
import { deliveries, deliveryAt, firstOf, table, tenants } from '../servers/citus/deliveries.mjs'
import { sendJson } from '../servers/json-request.mjs'

const contenders = [
  { name: 'Filigree', file: 'citus/filigree.ts' },
  { name: 'Fastify + pg', file: 'citus/fastify.mjs' },
]

const find = ({ id, tenantId }) => ({ path: `/deliveries/${id}?tenantId=${tenantId}` })
const list = (tenantId) => ({ path: `/deliveries?tenantId=${tenantId}&limit=20` })
const create = (tenantId) => sendJson('POST', '/deliveries', { tenantId, name: 'New', price: 3 })
const ofEachTenant = (make) => ({
  requests: Array.from({ length: tenants }, (_, index) => make(`t${index}`)),
})
/** Far from each other in the table. */
const keys = Array.from({ length: 500 }, (_, n) => deliveryAt((n * 7919) % deliveries.length))

const definitions = [
  {
    name: 'find',
    title: 'one record of a tenant by its key',
    request: { requests: keys.map(find) },
    probes: [
      { request: find(deliveryAt(7)), status: 200, json: deliveryAt(7) },
      { request: find({ ...deliveryAt(7), tenantId: 't8' }), status: 404 },
    ],
    atLeast: 1,
  },
  {
    name: 'list',
    title: 'twenty records of a tenant with their total',
    request: ofEachTenant(list),
    probes: [
      {
        request: list('t7'),
        status: 200,
        json: firstOf('t7', 20),
        headers: { 'x-total-count': '100' },
      },
    ],
    atLeast: 1.3,
  },
  {
    name: 'create',
    title: 'a record of a tenant created',
    request: ofEachTenant(create),
    probes: [{ request: create('t7'), status: 201 }],
    atLeast: 1,
  },
]

async function fill(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of table) await client.query(statement)
  await client.query(
    `insert into bench_delivery (id, tenant_id, name, price)
     select id, "tenantId", name, price from json_to_recordset($1)
     as one(id uuid, "tenantId" text, name text, price integer)`,
    [JSON.stringify(deliveries)],
  )
  await client.query('vacuum analyze bench_delivery')
  await client.end()
}

/** @param url a database with the extension on a coordinator */
export const citusRows = (url) =>
  definitions.map(({ name, title, request, probes, atLeast }) => ({
    name: `citus-${name}`,
    group: 'citus',
    title: `Citus: ${title}`,
    targets: [{ of: 'Filigree', over: 'Fastify + pg', atLeast }],
    async measure(options) {
      await fill(url)
      return measureLoad({ contenders, probes, request, env: { DATABASE_URL: url } }, options)
    },
  }))
