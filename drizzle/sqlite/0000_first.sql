CREATE TABLE `{prefix}attempt` (
	`job_id` text NOT NULL,
	`claim` integer NOT NULL,
	`attempt` integer NOT NULL,
	`worker` text NOT NULL,
	`started` text NOT NULL,
	`ended` text NOT NULL,
	`outcome` text NOT NULL,
	`error` text,
	PRIMARY KEY(`job_id`, `claim`),
	CONSTRAINT "{prefix}attempt_job_id" CHECK(typeof(`job_id`) in ('text', 'null') and instr(`job_id`, char(0)) = 0 and length(`job_id`) <= 254 and length(cast(`job_id` as blob)) = length(`job_id`) and `job_id` not like '% '),
	CONSTRAINT "{prefix}attempt_claim" CHECK(typeof(`claim`) in ('integer', 'null') and `claim` between 0 and 2147483647),
	CONSTRAINT "{prefix}attempt_attempt" CHECK(typeof(`attempt`) in ('integer', 'null') and `attempt` between 0 and 2147483647),
	CONSTRAINT "{prefix}attempt_worker" CHECK(typeof(`worker`) in ('text', 'null') and instr(`worker`, char(0)) = 0 and length(`worker`) <= 255),
	CONSTRAINT "{prefix}attempt_outcome" CHECK(`outcome` in ('failed', 'timeout', 'cancelled', 'released', 'snoozed', 'lost'))
);
--> statement-breakpoint
CREATE TABLE `{prefix}declared_set` (
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`schedules` text NOT NULL,
	`first_seen` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	PRIMARY KEY(`name`, `hash`),
	CONSTRAINT "{prefix}declared_set_name" CHECK(typeof(`name`) in ('text', 'null') and instr(`name`, char(0)) = 0 and length(`name`) <= 254),
	CONSTRAINT "{prefix}declared_set_hash" CHECK(typeof(`hash`) in ('text', 'null') and instr(`hash`, char(0)) = 0 and length(`hash`) <= 64),
	CONSTRAINT "{prefix}declared_set_schedules" CHECK(typeof(`schedules`) in ('text', 'null') and instr(`schedules`, char(0)) = 0)
);
--> statement-breakpoint
CREATE TABLE `{prefix}job` (
	`id` text PRIMARY KEY DEFAULT (lower(printf('%08x-%04x-7', cast((julianday('now') - 2440587.5) * 86400000 as integer) >> 16, cast((julianday('now') - 2440587.5) * 86400000 as integer) & 65535) || substr(hex(randomblob(2)), 1, 3) || '-8' || substr(hex(randomblob(2)), 1, 3) || '-' || hex(randomblob(6)))) NOT NULL,
	`periodic_task_id` text,
	`slot` text,
	`missed` integer DEFAULT 0 NOT NULL,
	`run` integer,
	`task` text NOT NULL,
	`args` text DEFAULT ('{}') NOT NULL,
	`timeout` integer,
	`max_retries` integer,
	`retry_delay` integer,
	`retry_backoff` text,
	`priority` integer DEFAULT 0 NOT NULL,
	`group_` text DEFAULT '' NOT NULL,
	`submitter` text,
	`subject` text,
	`state` text DEFAULT 'waiting' NOT NULL,
	`reason` text,
	`queue` text,
	`worker` text,
	`attempt` integer DEFAULT 0 NOT NULL,
	`submitted` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`run_at` text,
	`frozen_until` text,
	`started` text,
	`finished` text,
	`progress` text,
	`result` text,
	`error` text,
	`stop_requested` text,
	`periodic_task_uid` text,
	`exclusive` integer DEFAULT 1 NOT NULL,
	`claim` integer DEFAULT 0 NOT NULL,
	`no_retry` text,
	`releases` integer DEFAULT 0 NOT NULL,
	`open_key` text GENERATED ALWAYS AS (case when `state` in ('waiting', 'blocked', 'running', 'external') then `periodic_task_uid` end) VIRTUAL,
	`open_turn` text GENERATED ALWAYS AS (case when `periodic_task_uid` is null or not (`state` in ('waiting', 'blocked', 'running', 'external')) then null when `exclusive` = 1 and `state` <> 'blocked' then '' else `id` end) VIRTUAL,
	`open_group` text GENERATED ALWAYS AS (case when `state` in ('waiting', 'blocked', 'running', 'external') then nullif(`group_`, '') end) VIRTUAL,
	`open_submitter` text GENERATED ALWAYS AS (case when `state` in ('waiting', 'blocked', 'running', 'external') then `submitter` end) VIRTUAL,
	`ready` integer GENERATED ALWAYS AS (case when `state` = 'waiting' and `run_at` is null and `frozen_until` is null and typeof(`id`) = 'text' then 1 else 0 end) VIRTUAL,
	`claim_task` text GENERATED ALWAYS AS (coalesce(' ' || `queue`, `task`)) VIRTUAL,
	`claim_rank` integer GENERATED ALWAYS AS (-`priority`) VIRTUAL,
	`due_at` text GENERATED ALWAYS AS (case when `state` = 'waiting' and typeof(`id`) = 'text' then max(coalesce(strftime('%Y-%m-%d %H:%M:%f', `run_at`), strftime('%Y-%m-%d %H:%M:%f', `run_at`), strftime('%Y-%m-%d %H:%M:%f', `frozen_until`)), coalesce(strftime('%Y-%m-%d %H:%M:%f', `frozen_until`), strftime('%Y-%m-%d %H:%M:%f', `run_at`), strftime('%Y-%m-%d %H:%M:%f', `frozen_until`))) end) VIRTUAL,
	`held_by` text GENERATED ALWAYS AS (case `state` when 'external' then ' ' || strftime('%Y-%m-%d %H:%M:%f', coalesce(`started`, `submitted`), (case when coalesce(`reason`, '') = 'handed-over' then 0 else coalesce(`timeout`, 86400000) end / 1000.0) || ' seconds') when 'waiting' then case when `frozen_until` is not null then '' end end) VIRTUAL,
	CONSTRAINT "{prefix}job_json" CHECK(json_valid(`args`)),
	CONSTRAINT "{prefix}job_id" CHECK(typeof(`id`) in ('text', 'null') and instr(`id`, char(0)) = 0 and length(`id`) <= 254 and length(cast(`id` as blob)) = length(`id`) and `id` not like '% ' and `id` <> ''),
	CONSTRAINT "{prefix}job_periodic_task_id" CHECK(typeof(`periodic_task_id`) in ('text', 'null') and instr(`periodic_task_id`, char(0)) = 0 and length(`periodic_task_id`) <= 254),
	CONSTRAINT "{prefix}job_missed" CHECK(typeof(`missed`) in ('integer', 'null') and `missed` between 0 and 2147483647),
	CONSTRAINT "{prefix}job_run" CHECK(typeof(`run`) in ('integer', 'null') and `run` between 0 and 9007199254740991),
	CONSTRAINT "{prefix}job_task" CHECK(typeof(`task`) in ('text', 'null') and instr(`task`, char(0)) = 0 and length(`task`) <= 254),
	CONSTRAINT "{prefix}job_args" CHECK(typeof(`args`) in ('text', 'null') and instr(`args`, char(0)) = 0),
	CONSTRAINT "{prefix}job_timeout" CHECK(typeof(`timeout`) in ('integer', 'null') and `timeout` between 1 and 2147483647),
	CONSTRAINT "{prefix}job_max_retries" CHECK(typeof(`max_retries`) in ('integer', 'null') and `max_retries` between -1 and 1000),
	CONSTRAINT "{prefix}job_retry_delay" CHECK(typeof(`retry_delay`) in ('integer', 'null') and `retry_delay` between 0 and 2147483647),
	CONSTRAINT "{prefix}job_retry_backoff" CHECK(`retry_backoff` in ('exponential', 'fixed')),
	CONSTRAINT "{prefix}job_priority" CHECK(typeof(`priority`) in ('integer', 'null') and `priority` between -2147483647 and 2147483647),
	CONSTRAINT "{prefix}job_group_" CHECK(typeof(`group_`) in ('text', 'null') and instr(`group_`, char(0)) = 0 and length(`group_`) <= 254),
	CONSTRAINT "{prefix}job_submitter" CHECK(typeof(`submitter`) in ('text', 'null') and instr(`submitter`, char(0)) = 0 and length(`submitter`) <= 254),
	CONSTRAINT "{prefix}job_subject" CHECK(typeof(`subject`) in ('text', 'null') and instr(`subject`, char(0)) = 0 and length(`subject`) <= 255),
	CONSTRAINT "{prefix}job_state" CHECK(`state` in ('waiting', 'blocked', 'running', 'external', 'success', 'failed', 'cancelled', 'skipped')),
	CONSTRAINT "{prefix}job_reason" CHECK(`reason` in ('overlap', 'missed', 'frozen', 'max-runs', 'unsubmittable', 'exhausted', 'permanent', 'lost', 'yielded', 'unreported', 'replaced', 'paused', 'run-now', 'retried', 'handed-over')),
	CONSTRAINT "{prefix}job_queue" CHECK(typeof(`queue`) in ('text', 'null') and instr(`queue`, char(0)) = 0 and length(`queue`) <= 190),
	CONSTRAINT "{prefix}job_worker" CHECK(typeof(`worker`) in ('text', 'null') and instr(`worker`, char(0)) = 0 and length(`worker`) <= 255),
	CONSTRAINT "{prefix}job_attempt" CHECK(typeof(`attempt`) in ('integer', 'null') and `attempt` between 0 and 2147483647),
	CONSTRAINT "{prefix}job_run_at: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`run_at` is null or `run_at` between '0001' and ':' and (`run_at` is strftime('%Y-%m-%d %H:%M:%f', `run_at`, '+0 days') or replace(substr(`run_at`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`run_at`, 1, 19), '+0 days') and strftime('%s', `run_at`) is not null and substr(`run_at`, 20) not glob '*[^-+.:Z0-9]*' and `run_at` not glob '*.[0-9][0-9][0-9][0-9]*' and instr(`run_at`, char(0)) = 0)),
	CONSTRAINT "{prefix}job_finished: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`finished` is null or `finished` between '0001' and ':' and (`finished` is strftime('%Y-%m-%d %H:%M:%f', `finished`, '+0 days') or replace(substr(`finished`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`finished`, 1, 19), '+0 days') and strftime('%s', `finished`) is not null and substr(`finished`, 20) not glob '*[^-+.:Z0-9]*' and `finished` not glob '*.[0-9][0-9][0-9][0-9]*' and substr(`finished`, 11) not glob '*[-+TZ]*' and instr(`finished`, char(0)) = 0)),
	CONSTRAINT "{prefix}job_stop_requested: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`stop_requested` is null or `stop_requested` between '0001' and ':' and (`stop_requested` is strftime('%Y-%m-%d %H:%M:%f', `stop_requested`, '+0 days') or replace(substr(`stop_requested`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`stop_requested`, 1, 19), '+0 days') and strftime('%s', `stop_requested`) is not null and substr(`stop_requested`, 20) not glob '*[^-+.:Z0-9]*' and `stop_requested` not glob '*.[0-9][0-9][0-9][0-9]*' and instr(`stop_requested`, char(0)) = 0)),
	CONSTRAINT "{prefix}job_periodic_task_uid" CHECK(typeof(`periodic_task_uid`) in ('text', 'null') and instr(`periodic_task_uid`, char(0)) = 0 and length(`periodic_task_uid`) <= 254 and length(cast(`periodic_task_uid` as blob)) = length(`periodic_task_uid`) and `periodic_task_uid` not like '% ' and `periodic_task_uid` <> ''),
	CONSTRAINT "{prefix}job_exclusive" CHECK(typeof(`exclusive`) in ('integer', 'null') and `exclusive` between 0 and 1),
	CONSTRAINT "{prefix}job_claim" CHECK(typeof(`claim`) in ('integer', 'null') and `claim` between 0 and 2147483647),
	CONSTRAINT "{prefix}job_no_retry" CHECK(typeof(`no_retry`) in ('text', 'null') and instr(`no_retry`, char(0)) = 0 and length(`no_retry`) <= 1100),
	CONSTRAINT "{prefix}job_releases" CHECK(typeof(`releases`) in ('integer', 'null') and `releases` between 0 and 2147483647)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `{prefix}job_occurrence` ON `{prefix}job` (`periodic_task_uid`,`slot`);--> statement-breakpoint
CREATE UNIQUE INDEX `{prefix}job_open` ON `{prefix}job` (`open_key`,`open_turn`) WHERE open_key is not null;--> statement-breakpoint
CREATE INDEX `{prefix}job_claim` ON `{prefix}job` (`ready`,`group_`,`claim_task`,`claim_rank`,`id`) WHERE ready = 1;--> statement-breakpoint
CREATE INDEX `{prefix}job_due` ON `{prefix}job` (`due_at`);--> statement-breakpoint
CREATE INDEX `{prefix}job_held` ON `{prefix}job` (`held_by`) WHERE held_by is not null;--> statement-breakpoint
CREATE INDEX `{prefix}job_state` ON `{prefix}job` (`state`,`finished`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_schedule` ON `{prefix}job` (`periodic_task_id`,`id`) WHERE periodic_task_id is not null;--> statement-breakpoint
CREATE INDEX `{prefix}job_task` ON `{prefix}job` (`task`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_group` ON `{prefix}job` (`group_`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_submitter` ON `{prefix}job` (`submitter`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_open_group` ON `{prefix}job` (`open_group`) WHERE open_group is not null;--> statement-breakpoint
CREATE INDEX `{prefix}job_open_submitter` ON `{prefix}job` (`open_submitter`) WHERE open_submitter is not null;--> statement-breakpoint
CREATE TABLE `{prefix}job_log` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`job_id` text NOT NULL,
	`at` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`level` text DEFAULT 'info' NOT NULL,
	`message` text NOT NULL,
	CONSTRAINT "{prefix}job_log_job_id" CHECK(typeof(`job_id`) in ('text', 'null') and instr(`job_id`, char(0)) = 0 and length(`job_id`) <= 254 and length(cast(`job_id` as blob)) = length(`job_id`) and `job_id` not like '% '),
	CONSTRAINT "{prefix}job_log_level" CHECK(`level` in ('debug', 'info', 'warn', 'error'))
);
--> statement-breakpoint
CREATE INDEX `{prefix}job_log_job` ON `{prefix}job_log` (`job_id`,`id`);--> statement-breakpoint
CREATE TABLE `{prefix}periodic_task` (
	`id` text PRIMARY KEY NOT NULL,
	`task` text NOT NULL,
	`enabled` integer DEFAULT 1 NOT NULL,
	`timer` text NOT NULL,
	`args` text DEFAULT ('{}') NOT NULL,
	`summary` text,
	`overlap` text DEFAULT 'skip' NOT NULL,
	`catch_up` integer DEFAULT 1 NOT NULL,
	`jitter` integer DEFAULT 0 NOT NULL,
	`starts` text,
	`ends` text,
	`max_runs` integer,
	`timeout` integer,
	`max_retries` integer,
	`retry_delay` integer,
	`retry_backoff` text,
	`yields` integer DEFAULT 0 NOT NULL,
	`on_exhausted` text DEFAULT 'continue' NOT NULL,
	`after_done` text DEFAULT 'keep' NOT NULL,
	`priority` integer DEFAULT 0 NOT NULL,
	`group_` text DEFAULT '' NOT NULL,
	`submitter` text,
	`subject` text,
	`nextrun` text,
	`declared_by` text,
	`created` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`worker` text,
	`last_slot` text,
	`run_count` integer DEFAULT 0 NOT NULL,
	`error_count` integer DEFAULT 0 NOT NULL,
	`failed_attempts` integer DEFAULT 0 NOT NULL,
	`last_run` text,
	`last_finished` text,
	`last_job` text,
	`last_error` text,
	`pause_reason` text,
	`frozen_until` text,
	`retry_at` text,
	`retry` integer,
	`retry_limit` integer,
	`uid` text DEFAULT (lower(printf('%08x-%04x-7', cast((julianday('now') - 2440587.5) * 86400000 as integer) >> 16, cast((julianday('now') - 2440587.5) * 86400000 as integer) & 65535) || substr(hex(randomblob(2)), 1, 3) || '-8' || substr(hex(randomblob(2)), 1, 3) || '-' || hex(randomblob(6)))) NOT NULL,
	`idle` text,
	`marked` text,
	`mark_ends` text,
	`planned_from` text,
	`status` text GENERATED ALWAYS AS (case when `enabled` = 0 then 'paused' when `idle` in ('dead', 'invalid', 'retired') then `idle` when `frozen_until` is not null and coalesce(`idle`, '') <> 'done' then 'frozen' when `retry_at` is not null then 'retrying' when `idle` = 'done' then 'done' else 'active' end) VIRTUAL,
	`definition` text GENERATED ALWAYS AS (`enabled` || '|' || `timer` || '|' || `jitter` || '|' || coalesce(`starts`, '') || '|' || coalesce(`ends`, '') || '|' || coalesce(`max_runs`, '')) VIRTUAL,
	`wake_at` text GENERATED ALWAYS AS (case when not typeof(`id`) = 'text' then null when `worker` is not null then coalesce(strftime('%Y-%m-%d %H:%M:%f', `mark_ends`), '1970-01-01 00:00:00.000') when coalesce(`planned_from`, '') not in (`enabled` || '|' || `timer` || '|' || `jitter` || '|' || coalesce(`starts`, '') || '|' || coalesce(`ends`, '') || '|' || coalesce(`max_runs`, '') || '|' || coalesce(strftime('%Y-%m-%d %H:%M:%f', `nextrun`), ''), `enabled` || '|' || `timer` || '|' || `jitter` || '|' || coalesce(`starts`, '') || '|' || coalesce(`ends`, '') || '|' || coalesce(`max_runs`, '') || '|' || coalesce(strftime('%Y-%m-%d %H:%M:%f', `nextrun`), '') || '|by hand') then '1970-01-01 00:00:00.000' when `enabled` = 0 or `idle` is not null then null else max(coalesce(strftime('%Y-%m-%d %H:%M:%f', `nextrun`), '1970-01-01 00:00:00.000'), coalesce(strftime('%Y-%m-%d %H:%M:%f', `frozen_until`), '1970-01-01 00:00:00.000')) end) VIRTUAL,
	CONSTRAINT "{prefix}periodic_task_json" CHECK(json_valid(`args`)),
	CONSTRAINT "{prefix}periodic_task_id" CHECK(typeof(`id`) in ('text', 'null') and instr(`id`, char(0)) = 0 and length(`id`) <= 254),
	CONSTRAINT "{prefix}periodic_task_task" CHECK(typeof(`task`) in ('text', 'null') and instr(`task`, char(0)) = 0 and length(`task`) <= 254),
	CONSTRAINT "{prefix}periodic_task_enabled" CHECK(typeof(`enabled`) in ('integer', 'null') and `enabled` between 0 and 1),
	CONSTRAINT "{prefix}periodic_task_timer" CHECK(typeof(`timer`) in ('text', 'null') and instr(`timer`, char(0)) = 0 and length(`timer`) <= 512),
	CONSTRAINT "{prefix}periodic_task_args" CHECK(typeof(`args`) in ('text', 'null') and instr(`args`, char(0)) = 0),
	CONSTRAINT "{prefix}periodic_task_summary" CHECK(typeof(`summary`) in ('text', 'null') and instr(`summary`, char(0)) = 0 and length(`summary`) <= 1000),
	CONSTRAINT "{prefix}periodic_task_overlap" CHECK(`overlap` in ('skip', 'queue-one', 'replace', 'allow')),
	CONSTRAINT "{prefix}periodic_task_catch_up" CHECK(typeof(`catch_up`) in ('integer', 'null') and `catch_up` between 0 and 1000),
	CONSTRAINT "{prefix}periodic_task_jitter" CHECK(typeof(`jitter`) in ('integer', 'null') and `jitter` between 0 and 2147483647),
	CONSTRAINT "{prefix}periodic_task_starts: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`starts` is null or `starts` between '0001' and ':' and (`starts` is strftime('%Y-%m-%d %H:%M:%f', `starts`, '+0 days') or replace(substr(`starts`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`starts`, 1, 19), '+0 days') and strftime('%s', `starts`) is not null and substr(`starts`, 20) not glob '*[^-+.:Z0-9]*' and `starts` not glob '*.[0-9][0-9][0-9][0-9]*' and instr(`starts`, char(0)) = 0)),
	CONSTRAINT "{prefix}periodic_task_ends: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`ends` is null or `ends` between '0001' and ':' and (`ends` is strftime('%Y-%m-%d %H:%M:%f', `ends`, '+0 days') or replace(substr(`ends`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`ends`, 1, 19), '+0 days') and strftime('%s', `ends`) is not null and substr(`ends`, 20) not glob '*[^-+.:Z0-9]*' and `ends` not glob '*.[0-9][0-9][0-9][0-9]*' and instr(`ends`, char(0)) = 0)),
	CONSTRAINT "{prefix}periodic_task_max_runs" CHECK(typeof(`max_runs`) in ('integer', 'null') and `max_runs` between 1 and 9007199254740991),
	CONSTRAINT "{prefix}periodic_task_timeout" CHECK(typeof(`timeout`) in ('integer', 'null') and `timeout` between 1 and 2147483647),
	CONSTRAINT "{prefix}periodic_task_max_retries" CHECK(typeof(`max_retries`) in ('integer', 'null') and `max_retries` between -1 and 1000),
	CONSTRAINT "{prefix}periodic_task_retry_delay" CHECK(typeof(`retry_delay`) in ('integer', 'null') and `retry_delay` between 0 and 2147483647),
	CONSTRAINT "{prefix}periodic_task_retry_backoff" CHECK(`retry_backoff` in ('exponential', 'fixed')),
	CONSTRAINT "{prefix}periodic_task_yields" CHECK(typeof(`yields`) in ('integer', 'null') and `yields` between 0 and 1),
	CONSTRAINT "{prefix}periodic_task_on_exhausted" CHECK(`on_exhausted` in ('continue', 'stop')),
	CONSTRAINT "{prefix}periodic_task_after_done" CHECK(`after_done` in ('keep', 'delete')),
	CONSTRAINT "{prefix}periodic_task_priority" CHECK(typeof(`priority`) in ('integer', 'null') and `priority` between -2147483647 and 2147483647),
	CONSTRAINT "{prefix}periodic_task_group_" CHECK(typeof(`group_`) in ('text', 'null') and instr(`group_`, char(0)) = 0 and length(`group_`) <= 254),
	CONSTRAINT "{prefix}periodic_task_submitter" CHECK(typeof(`submitter`) in ('text', 'null') and instr(`submitter`, char(0)) = 0 and length(`submitter`) <= 254),
	CONSTRAINT "{prefix}periodic_task_subject" CHECK(typeof(`subject`) in ('text', 'null') and instr(`subject`, char(0)) = 0 and length(`subject`) <= 255),
	CONSTRAINT "{prefix}periodic_task_nextrun: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`nextrun` is null or `nextrun` between '0001' and ':' and (`nextrun` is strftime('%Y-%m-%d %H:%M:%f', `nextrun`, '+0 days') or replace(substr(`nextrun`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`nextrun`, 1, 19), '+0 days') and strftime('%s', `nextrun`) is not null and substr(`nextrun`, 20) not glob '*[^-+.:Z0-9]*' and `nextrun` not glob '*.[0-9][0-9][0-9][0-9]*' and instr(`nextrun`, char(0)) = 0)),
	CONSTRAINT "{prefix}periodic_task_declared_by" CHECK(typeof(`declared_by`) in ('text', 'null') and instr(`declared_by`, char(0)) = 0 and length(`declared_by`) <= 254),
	CONSTRAINT "{prefix}periodic_task_created: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`created` is null or `created` between '0001' and ':' and (`created` is strftime('%Y-%m-%d %H:%M:%f', `created`, '+0 days') or replace(substr(`created`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`created`, 1, 19), '+0 days') and strftime('%s', `created`) is not null and substr(`created`, 20) not glob '*[^-+.:Z0-9]*' and `created` not glob '*.[0-9][0-9][0-9][0-9]*' and substr(`created`, 11) not glob '*[-+TZ]*' and instr(`created`, char(0)) = 0)),
	CONSTRAINT "{prefix}periodic_task_worker" CHECK(typeof(`worker`) in ('text', 'null') and instr(`worker`, char(0)) = 0 and length(`worker`) <= 255),
	CONSTRAINT "{prefix}periodic_task_run_count" CHECK(typeof(`run_count`) in ('integer', 'null') and `run_count` between 0 and 9007199254740991),
	CONSTRAINT "{prefix}periodic_task_error_count" CHECK(typeof(`error_count`) in ('integer', 'null') and `error_count` between 0 and 9007199254740991),
	CONSTRAINT "{prefix}periodic_task_failed_attempts" CHECK(typeof(`failed_attempts`) in ('integer', 'null') and `failed_attempts` between 0 and 9007199254740991),
	CONSTRAINT "{prefix}periodic_task_last_job" CHECK(typeof(`last_job`) in ('text', 'null') and instr(`last_job`, char(0)) = 0 and length(`last_job`) <= 254 and length(cast(`last_job` as blob)) = length(`last_job`) and `last_job` not like '% '),
	CONSTRAINT "{prefix}periodic_task_pause_reason" CHECK(typeof(`pause_reason`) in ('text', 'null') and instr(`pause_reason`, char(0)) = 0 and length(`pause_reason`) <= 1000),
	CONSTRAINT "{prefix}periodic_task_retry" CHECK(typeof(`retry`) in ('integer', 'null') and `retry` between 0 and 2147483647),
	CONSTRAINT "{prefix}periodic_task_retry_limit" CHECK(typeof(`retry_limit`) in ('integer', 'null') and `retry_limit` between 0 and 2147483647),
	CONSTRAINT "{prefix}periodic_task_uid" CHECK(typeof(`uid`) in ('text', 'null') and instr(`uid`, char(0)) = 0 and length(`uid`) <= 254 and length(cast(`uid` as blob)) = length(`uid`) and `uid` not like '% ' and `uid` <> ''),
	CONSTRAINT "{prefix}periodic_task_idle" CHECK(`idle` in ('awaiting-finish', 'done', 'dead', 'invalid', 'retired')),
	CONSTRAINT "{prefix}periodic_task_planned_from" CHECK(typeof(`planned_from`) in ('text', 'null') and instr(`planned_from`, char(0)) = 0 and length(`planned_from`) <= 800)
);
--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_wake_at` ON `{prefix}periodic_task` (`wake_at`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `{prefix}periodic_task_identity` ON `{prefix}periodic_task` (`uid`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_declared_by` ON `{prefix}periodic_task` (`declared_by`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_idle` ON `{prefix}periodic_task` (`idle`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_status` ON `{prefix}periodic_task` (`status`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_task` ON `{prefix}periodic_task` (`task`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_group` ON `{prefix}periodic_task` (`group_`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_submitter` ON `{prefix}periodic_task` (`submitter`,`id`);--> statement-breakpoint
CREATE TABLE `{prefix}schedule_freeze` (
	`id` text PRIMARY KEY DEFAULT (lower(printf('%08x-%04x-7', cast((julianday('now') - 2440587.5) * 86400000 as integer) >> 16, cast((julianday('now') - 2440587.5) * 86400000 as integer) & 65535) || substr(hex(randomblob(2)), 1, 3) || '-8' || substr(hex(randomblob(2)), 1, 3) || '-' || hex(randomblob(6)))) NOT NULL,
	`schedule_id` text,
	`task` text,
	`group_` text,
	`until` text NOT NULL,
	`reason` text,
	`created` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	CONSTRAINT "{prefix}schedule_freeze_id" CHECK(typeof(`id`) in ('text', 'null') and instr(`id`, char(0)) = 0 and length(`id`) <= 254),
	CONSTRAINT "{prefix}schedule_freeze_schedule_id" CHECK(typeof(`schedule_id`) in ('text', 'null') and instr(`schedule_id`, char(0)) = 0 and length(`schedule_id`) <= 254),
	CONSTRAINT "{prefix}schedule_freeze_task" CHECK(typeof(`task`) in ('text', 'null') and instr(`task`, char(0)) = 0 and length(`task`) <= 254),
	CONSTRAINT "{prefix}schedule_freeze_group_" CHECK(typeof(`group_`) in ('text', 'null') and instr(`group_`, char(0)) = 0 and length(`group_`) <= 254),
	CONSTRAINT "{prefix}schedule_freeze_until: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`until` is null or `until` between '0001' and ':' and (`until` is strftime('%Y-%m-%d %H:%M:%f', `until`, '+0 days') or replace(substr(`until`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`until`, 1, 19), '+0 days') and strftime('%s', `until`) is not null and substr(`until`, 20) not glob '*[^-+.:Z0-9]*' and `until` not glob '*.[0-9][0-9][0-9][0-9]*' and instr(`until`, char(0)) = 0)),
	CONSTRAINT "{prefix}schedule_freeze_reason" CHECK(typeof(`reason`) in ('text', 'null') and instr(`reason`, char(0)) = 0 and length(`reason`) <= 1000),
	CONSTRAINT "{prefix}schedule_freeze_created: write UTC as YYYY-MM-DD HH:MM:SS" CHECK(`created` is null or `created` between '0001' and ':' and (`created` is strftime('%Y-%m-%d %H:%M:%f', `created`, '+0 days') or replace(substr(`created`, 1, 19), 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', substr(`created`, 1, 19), '+0 days') and strftime('%s', `created`) is not null and substr(`created`, 20) not glob '*[^-+.:Z0-9]*' and `created` not glob '*.[0-9][0-9][0-9][0-9]*' and substr(`created`, 11) not glob '*[-+TZ]*' and instr(`created`, char(0)) = 0))
);
--> statement-breakpoint
CREATE TABLE `{prefix}task_queue` (
	`task` text PRIMARY KEY NOT NULL,
	`queue` text NOT NULL,
	CONSTRAINT "{prefix}task_queue_task" CHECK(typeof(`task`) in ('text', 'null') and instr(`task`, char(0)) = 0 and length(`task`) <= 254),
	CONSTRAINT "{prefix}task_queue_queue" CHECK(typeof(`queue`) in ('text', 'null') and instr(`queue`, char(0)) = 0 and length(`queue`) <= 190)
);
--> statement-breakpoint
CREATE TABLE `{prefix}worker` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`host` text NOT NULL,
	`pid` integer NOT NULL,
	`tasks` text NOT NULL,
	`sets` text DEFAULT ('{}') NOT NULL,
	`started` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`heartbeat` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	CONSTRAINT "{prefix}worker_id" CHECK(typeof(`id`) in ('text', 'null') and instr(`id`, char(0)) = 0 and length(`id`) <= 255),
	CONSTRAINT "{prefix}worker_name" CHECK(typeof(`name`) in ('text', 'null') and instr(`name`, char(0)) = 0 and length(`name`) <= 190),
	CONSTRAINT "{prefix}worker_host" CHECK(typeof(`host`) in ('text', 'null') and instr(`host`, char(0)) = 0 and length(`host`) <= 255),
	CONSTRAINT "{prefix}worker_pid" CHECK(typeof(`pid`) in ('integer', 'null') and `pid` between 0 and 2147483647),
	CONSTRAINT "{prefix}worker_tasks" CHECK(typeof(`tasks`) in ('text', 'null') and instr(`tasks`, char(0)) = 0),
	CONSTRAINT "{prefix}worker_sets" CHECK(typeof(`sets`) in ('text', 'null') and instr(`sets`, char(0)) = 0)
);
