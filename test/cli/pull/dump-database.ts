/** The complete content of a database as text, to compare it before and after. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileOfAddress } from '../../../src/engines/database-address.js'
import { Client } from '../../records/postgres-server.js'

export async function dumpDatabase(url: string, schemas: readonly string[]): Promise<string> {
  const file = fileOfAddress(url)
  return file === undefined ? dumpServer(url, schemas) : hash(await readFile(file))
}

function hash(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Definitions from the catalogue, and a hash of the rows of each table. */
async function dumpServer(url: string, schemas: readonly string[]): Promise<string> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const list = schemas.map((name) => `'${name}'`).join(', ')
    const parts: string[] = []
    for (const sql of definitionsIn(list))
      parts.push(JSON.stringify((await client.query(sql)).rows))
    const { rows } = await client.query(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in (${list}) order by 1`,
    )
    for (const { name } of rows) {
      const content = `select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as hash from ${String(name)} t`
      parts.push(JSON.stringify([name, (await client.query(content)).rows]))
    }
    return parts.join('\n')
  } finally {
    await client.end()
  }
}

const definitionsIn = (schemas: string): string[] => [
  `select c.oid::regclass::text, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
    a.attgenerated, pg_get_expr(d.adbin, d.adrelid) from pg_class c join pg_attribute a on a.attrelid = c.oid
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace in (select oid from pg_namespace where nspname in (${schemas})) order by c.oid, a.attnum`,
  `select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
    where connamespace in (select oid from pg_namespace where nspname in (${schemas})) order by oid`,
  `select * from pg_indexes where schemaname in (${schemas}) order by schemaname, indexname`,
  `select * from pg_sequences where schemaname in (${schemas}) order by schemaname, sequencename`,
  `select tgrelid::regclass::text, pg_get_triggerdef(oid) from pg_trigger order by oid`,
]
