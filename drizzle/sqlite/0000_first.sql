CREATE TABLE `{prefix}declared_set` (
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`schedules` text NOT NULL,
	`first_seen` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	PRIMARY KEY(`name`, `hash`)
);
--> statement-breakpoint
CREATE TABLE `{prefix}job` (
	`id` text PRIMARY KEY DEFAULT (lower(printf('%08x-%04x-7', cast((julianday('now') - 2440587.5) * 86400000 as integer) >> 16, cast((julianday('now') - 2440587.5) * 86400000 as integer) & 65535) || substr(hex(randomblob(2)), 1, 3) || '-8' || substr(hex(randomblob(2)), 1, 3) || '-' || hex(randomblob(6)))) NOT NULL,
	`periodic_task_id` text,
	`slot` text,
	`missed` integer DEFAULT 0 NOT NULL,
	`run` integer,
	`task` text NOT NULL,
	`group_` text DEFAULT '' NOT NULL,
	`args` text DEFAULT '{}' NOT NULL,
	`subject` text,
	`submitter` text,
	`priority` integer DEFAULT 0 NOT NULL,
	`state` text DEFAULT 'waiting' NOT NULL,
	`reason` text,
	`exclusive` integer DEFAULT 1 NOT NULL,
	`worker` text,
	`attempt` integer DEFAULT 0 NOT NULL,
	`submitted` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`run_at` text,
	`started` text,
	`finished` text,
	`timeout` integer,
	`max_retries` integer,
	`retry_delay` integer,
	`retry_backoff` text,
	`progress` text,
	`result` text,
	`error` text,
	`stop_requested` text,
	`active_key` text GENERATED ALWAYS AS (case when `exclusive` = 1 and `state` in ('waiting', 'running') then `periodic_task_id` end) VIRTUAL,
	`claim_group` text GENERATED ALWAYS AS (case when `state` = 'waiting' and `run_at` is null then `group_` end) VIRTUAL,
	`claim_task` text GENERATED ALWAYS AS (case when `state` = 'waiting' and `run_at` is null then `task` end) VIRTUAL,
	`claim_rank` integer GENERATED ALWAYS AS (case when `state` = 'waiting' and `run_at` is null then -`priority` end) VIRTUAL,
	`due_at` text GENERATED ALWAYS AS (case when `state` = 'waiting' then strftime('%Y-%m-%d %H:%M:%f', `run_at`) end) VIRTUAL,
	`held_by` text GENERATED ALWAYS AS (case when `state` = 'running' then `worker` end) VIRTUAL,
	CONSTRAINT "{prefix}job_args" CHECK(json_valid(`args`)),
	CONSTRAINT "{prefix}job_state" CHECK(`state` in ('waiting', 'blocked', 'running', 'success', 'failed', 'cancelled', 'skipped')),
	CONSTRAINT "{prefix}job_backoff" CHECK(`retry_backoff` in ('exponential', 'fixed'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `{prefix}job_occurrence` ON `{prefix}job` (`periodic_task_id`,`slot`);--> statement-breakpoint
CREATE UNIQUE INDEX `{prefix}job_active` ON `{prefix}job` (`active_key`);--> statement-breakpoint
CREATE INDEX `{prefix}job_claim` ON `{prefix}job` (`claim_group`,`claim_task`,`claim_rank`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_due` ON `{prefix}job` (`due_at`);--> statement-breakpoint
CREATE INDEX `{prefix}job_held` ON `{prefix}job` (`held_by`);--> statement-breakpoint
CREATE INDEX `{prefix}job_finished` ON `{prefix}job` (`finished`);--> statement-breakpoint
CREATE INDEX `{prefix}job_state_schedule` ON `{prefix}job` (`state`,`periodic_task_id`);--> statement-breakpoint
CREATE TABLE `{prefix}job_log` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`job_id` text NOT NULL,
	`at` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`level` text DEFAULT 'info' NOT NULL,
	`message` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `{prefix}job_log_job` ON `{prefix}job_log` (`job_id`,`id`);--> statement-breakpoint
CREATE TABLE `{prefix}periodic_task` (
	`id` text PRIMARY KEY NOT NULL,
	`enabled` integer DEFAULT 1 NOT NULL,
	`task` text NOT NULL,
	`group_` text DEFAULT '' NOT NULL,
	`args` text DEFAULT '{}' NOT NULL,
	`subject` text,
	`submitter` text,
	`summary` text,
	`priority` integer DEFAULT 0 NOT NULL,
	`timer` text NOT NULL,
	`nextrun` text,
	`starts` text,
	`ends` text,
	`jitter` integer DEFAULT 0 NOT NULL,
	`catch_up` integer DEFAULT 1 NOT NULL,
	`overlap` text DEFAULT 'skip' NOT NULL,
	`on_exhausted` text DEFAULT 'continue' NOT NULL,
	`max_runs` integer,
	`timeout` integer,
	`max_retries` integer,
	`retry_delay` integer,
	`retry_backoff` text,
	`declared_by` text,
	`created` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`worker` text,
	`marked` text,
	`mark_ends` text,
	`idle` text,
	`last_slot` text,
	`run_count` integer DEFAULT 0 NOT NULL,
	`error_count` integer DEFAULT 0 NOT NULL,
	`last_run` text,
	`last_finished` text,
	`last_job` text,
	`last_error` text,
	`planned_from` text,
	`status` text GENERATED ALWAYS AS (case when `enabled` = 0 then 'paused' when `idle` is not null and `idle` <> 'running' then `idle` else 'active' end) VIRTUAL,
	`definition` text GENERATED ALWAYS AS (`enabled` || '|' || `timer` || '|' || `jitter` || '|' || coalesce(`starts`, '') || '|' || coalesce(`ends`, '') || '|' || coalesce(`max_runs`, '')) VIRTUAL,
	`wake_at` text GENERATED ALWAYS AS (case when `worker` is not null then coalesce(strftime('%Y-%m-%d %H:%M:%f', `mark_ends`), '1970-01-01 00:00:00.000') when `planned_from` is not `enabled` || '|' || `timer` || '|' || `jitter` || '|' || coalesce(`starts`, '') || '|' || coalesce(`ends`, '') || '|' || coalesce(`max_runs`, '') || '|' || coalesce(strftime('%Y-%m-%d %H:%M:%f', `nextrun`), '') then '1970-01-01 00:00:00.000' when `enabled` = 0 or `idle` is not null then null else coalesce(strftime('%Y-%m-%d %H:%M:%f', `nextrun`), '1970-01-01 00:00:00.000') end) VIRTUAL,
	CONSTRAINT "{prefix}periodic_task_enabled" CHECK(`enabled` in (0, 1)),
	CONSTRAINT "{prefix}periodic_task_args" CHECK(json_valid(`args`)),
	CONSTRAINT "{prefix}periodic_task_catch_up" CHECK(`catch_up` between 0 and 1000),
	CONSTRAINT "{prefix}periodic_task_overlap" CHECK(`overlap` in ('skip', 'queue_one', 'replace', 'allow')),
	CONSTRAINT "{prefix}periodic_task_exhausted" CHECK(`on_exhausted` in ('continue', 'stop')),
	CONSTRAINT "{prefix}periodic_task_jitter" CHECK(`jitter` >= 0),
	CONSTRAINT "{prefix}periodic_task_max_runs" CHECK(`max_runs` > 0),
	CONSTRAINT "{prefix}periodic_task_backoff" CHECK(`retry_backoff` in ('exponential', 'fixed'))
);
--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_wake_at` ON `{prefix}periodic_task` (`wake_at`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_declared_by` ON `{prefix}periodic_task` (`declared_by`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_idle` ON `{prefix}periodic_task` (`idle`);--> statement-breakpoint
CREATE TABLE `{prefix}worker` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`host` text NOT NULL,
	`pid` integer NOT NULL,
	`tasks` text NOT NULL,
	`sets` text DEFAULT '{}' NOT NULL,
	`started` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL,
	`heartbeat` text DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')) NOT NULL
);
