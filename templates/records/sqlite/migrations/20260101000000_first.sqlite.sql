-- Table ticket is missing.
create table "ticket" (
  "id" integer primary key autoincrement constraint filigree_key_limit check ("id" <= 9007199254740991),
  "title" text not null constraint "ticket_title_check_7a52321c" check (length("title") <= 200),
  "done" integer_boolean not null default 0,
  "account_id" integer not null,
  "created_at" text_timestamp not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  "updated_at" text_timestamp not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  constraint "ticket_account_id_fkey" foreign key ("account_id") references "account" ("id") on delete restrict
);
create index "ticket_done_index" on "ticket" ("done");
create index "ticket_account_id_index" on "ticket" ("account_id", "id");

-- Table account is missing.
create table "account" (
  "id" integer primary key autoincrement constraint filigree_key_limit check ("id" <= 9007199254740991),
  "name" text not null constraint "account_name_check_916b238f" check (length("name") <= 80),
  "password_hash" text not null,
  "is_admin" integer_boolean not null default 0
);
create unique index "account_name_key" on "account" ("name");

-- down
drop table "account";

drop table "ticket";
