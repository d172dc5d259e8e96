/**
 * Triggers that announce the writes of other programs on the channel by which processes announce their own. A trigger runs once for
 * each statement and reads the rows from its transition tables. The application's own connections are recognized by their
 * `application_name`: their writes are announced by the process that makes them.
 *
 * A message names up to 100 rows. A statement that writes more, and every statement after the 100th message of a transaction, is
 * announced by `lost`: some rows were written. PostgreSQL sends messages after the commit, and equal ones only once.
 * Sources: PostgreSQL, CREATE TRIGGER; Trigger Functions (PL/pgSQL); NOTIFY.
 */
import type { AnnouncedTable, AnnounceSql } from '../contract/announce-sql.js'
import { quote, quoteTable } from '../contract/quote.js'
import { storedColumnsOf, type Column } from '../contract/table.js'
import { unlessDistributed } from './distribution.js'
import { channelName } from './notify-channel.js'

/** The first argument is a query for the event and the key of each row, the others are the tables that readers watch. */
const createFunction = `create or replace function filigree_announce() returns trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $announce$
declare
  one record;
  bodies text[] := '{}';
  rows bigint := 0;
  messages integer := coalesce(nullif(current_setting('filigree.messages', true), ''), '0')::integer + 1;
  body text;
  message text;
  home text := (select n.nspname from pg_trigger t join pg_proc p on p.oid = t.tgfoid
    join pg_namespace n on n.oid = p.pronamespace where t.tgrelid = tg_relid and t.tgname = tg_name);
begin
  if tg_argv[0] = '' then
    bodies := array['"lost",[]'];
  else
    for one in execute 'select event, count(*) as rows, coalesce(json_agg(id) filter (where id is not null), ''[]'')::text as ids
      from (' || tg_argv[0] || ' limit 101) as written group by event order by event desc'
    loop
      rows := rows + one.rows;
      bodies := bodies || (to_json(one.event)::text || ',' || one.ids);
    end loop;
    if rows = 0 then return null; end if;
  end if;
  if rows > 100 or messages > 100 or octet_length(array_to_string(bodies, '')) > 7000 then
    bodies := array['"lost",[]'];
  end if;
  perform set_config('filigree.messages', messages::text, true);
  for place in 1 .. tg_nargs - 1 loop
    foreach body in array bodies loop
      message := '["another program",' || to_json(tg_argv[place])::text || ',' || body || ']';
      perform pg_notify('${channelName}', message);
      -- Processes behind a pooler without sessions read messages from a table.
      if messages <= 101 and to_regclass(format('%I.filigree_listener', home)) is not null then
        execute format('insert into %1$I.filigree_change (id, told_at, place, message)
          select gen_random_uuid()::text, clock_timestamp(), 0, $1
          where exists (select from %1$I.filigree_listener where seen_at > clock_timestamp() - interval ''15 seconds'')', home)
          using message;
      end if;
    end loop;
  end loop;
  return null;
end
$announce$;
-- It runs queries of its triggers as its owner, so nobody else may make triggers with it.
revoke execute on function filigree_announce() from public;`

const dropFunction = `do $announce$ begin
  if not exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid where p.proname = 'filigree_announce') then
    drop function if exists filigree_announce();
  end if;
end $announce$;`

const events = ['insert', 'update', 'delete', 'truncate'] as const

type Event = (typeof events)[number]

/** Connections of the application: `filigree`, `filigree schema`. */
const isForeign = "current_setting('application_name') !~ '^filigree'"

const transitions: Readonly<Record<Event, string>> = {
  insert: ' referencing new table as new_rows',
  update: ' referencing old table as old_rows new table as new_rows',
  delete: ' referencing old table as old_rows',
  truncate: '',
}

export const announceSql: AnnounceSql = {
  install: (tables) => [createFunction, ...tables.flatMap(createAll)].join('\n\n'),
  remove: (tables) => [...tables.flatMap(dropAll), dropFunction].join('\n'),
  message,
  triggers: `select case when n.nspname = current_schema() then c.relname else n.nspname || '.' || c.relname end,
      t.tgname, encode(t.tgargs, 'hex')
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    join pg_proc p on p.oid = t.tgfoid where p.proname = 'filigree_announce' and t.tgenabled in ('O', 'A')`,
  stateOf: (table, triggers) => {
    if (triggers.size === 0) return 'not announced'
    const isCurrent = (event: Event): boolean =>
      triggers.get(triggerName(event)) === storedArguments(table, event)
    return events.every(isCurrent) ? 'announced' : 'outdated'
  },
}

/** As `pg_trigger` stores them: each ends with a zero byte. */
function storedArguments(table: AnnouncedTable, event: Event): string {
  return Buffer.from(
    argumentsOf(table, event)
      .map((one) => `${one}\0`)
      .join(''),
  ).toString('hex')
}

function argumentsOf(table: AnnouncedTable, event: Event): string[] {
  return [rowsOf(table, event), ...table.changes]
}

function triggerName(event: Event): string {
  return `filigree_${event}`
}

/** The only message that a program can send without reading what it wrote: some rows were written. */
function message({ changes }: AnnouncedTable): string {
  return changes
    .map(
      (name) =>
        `select pg_notify(${text(channelName)}, ${text(JSON.stringify(['another program', name, 'lost', []]))});`,
    )
    .join(' ')
}

function createAll(table: AnnouncedTable): string[] {
  if (!table.isDistributed) return [`-- ${table.name}`, ...createTriggers(table)]
  return [
    `-- ${table.name}. Citus allows no triggers on it. There, programs that write it announce that in the same transaction:`,
    `-- ${message(table)}`,
    unlessDistributed(createTriggers(table)),
  ]
}

function dropAll(table: AnnouncedTable): string[] {
  return table.isDistributed ? [unlessDistributed(dropTriggers(table))] : dropTriggers(table)
}

function createTriggers(table: AnnouncedTable): string[] {
  return [
    ...dropTriggers(table),
    ...events.map(
      (
        event,
      ) => `create trigger ${triggerName(event)} after ${event} on ${quoteTable(table.name)}${transitions[event]}
  for each statement when (${isForeign})
  execute function filigree_announce(${argumentsOf(table, event).map(text).join(', ')});`,
    ),
  ]
}

function dropTriggers({ name }: AnnouncedTable): string[] {
  return events.map(
    (event) => `drop trigger if exists ${triggerName(event)} on ${quoteTable(name)};`,
  )
}

/** The query for the rows of a statement. */
function rowsOf({ key, deletedAt }: AnnouncedTable, event: Event): string {
  if (event === 'truncate') return ''
  if (key === undefined) {
    const from = event === 'delete' ? 'old_rows' : 'new_rows'
    return `select null::json as id, 'lost' as event from ${from}`
  }
  const id = `${jsonOf(key)} as id`
  if (event === 'delete') return `select ${id}, 'deleted' as event from old_rows`
  if (event === 'insert') return `select ${id}, 'created' as event from new_rows`
  const isDeleted =
    deletedAt === undefined
      ? `'updated'`
      : `case when ${quote(deletedAt.name)} is null then 'updated' else 'deleted' end`
  const columns = storedColumnsOf(key)
    .map(({ name }) => quote(name))
    .join(', ')
  return `select ${id}, ${isDeleted} as event from new_rows union all select ${id}, 'deleted' from old_rows where (${columns}) not in (select ${columns} from new_rows)`
}

/** A key as messages have it: a number, or a text. */
function jsonOf(key: Column): string {
  if (key.parts === undefined) return `to_json(${partOf(key)})`
  const parts = key.parts.map((part) => `to_json(${partOf(part)})::text`)
  return `to_json('[' || ${parts.join(" || ',' || ")} || ']')`
}

function partOf({ name, storage }: Column): string {
  return storage === 'integer' ? quote(name) : `${quote(name)}::text`
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`
}
