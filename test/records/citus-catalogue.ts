/** Lets a PostgreSQL server look like a Citus coordinator, as far as the start reads its catalogue. */
import { Client } from './postgres-server.js'

export const citusCatalogue = `
  set allow_system_table_mods = on;
  insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    values (99999, 'citus', 10, 2200, false, '13.2-1');
  create function run_command_on_workers(command text) returns table (result text) language sql as $$ select '0' $$;
  create table pg_dist_node (groupid int);
  insert into pg_dist_node values (0);
  create function citus_add_local_table_to_metadata(name regclass) returns void language sql as '';
  reset allow_system_table_mods`

/** The tables that are distributed, where nothing distributes them. */
const distributions = `
  create schema citus_fake;
  create table citus_fake.pg_dist_partition (logicalrelid regclass, partkey text, colocationid int, repmodel "char");
  create function citus_fake.column_to_column_name(t regclass, c text) returns text language sql as $$ select c $$;`

/**
 * @param url a database with the tables of the records
 * @param sharded the column of each sharded table @param references the reference tables
 * @returns the URL of the same database with the catalogue
 */
export async function pretendCitus(
  url: string,
  sharded: Readonly<globalThis.Record<string, string>>,
  references: readonly string[],
): Promise<string> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const rows = [
    ...Object.entries(sharded).map(([table, column]) => `('${table}', '${column}', 1, 's')`),
    ...references.map((table) => `('${table}', null, 2, 't')`),
  ]
  await client.query(citusCatalogue)
  await client.query(distributions)
  await client.query(`insert into citus_fake.pg_dist_partition values ${rows.join(', ')}`)
  await client.query(`do $$ begin
    execute format('alter database %I set search_path = "$user", public, citus_fake', current_database());
  end $$`)
  await client.end()
  return url
}
