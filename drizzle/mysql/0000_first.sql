CREATE TABLE `{prefix}attempt` (
	`job_id` varchar(254) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	`claim` int NOT NULL,
	`attempt` int NOT NULL,
	`worker` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`started` datetime(3) NOT NULL,
	`ended` datetime(3) NOT NULL,
	`outcome` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`error` longtext CHARACTER SET utf8mb4 COLLATE {exact},
	CONSTRAINT `{prefix}attempt_job_id_claim_pk` PRIMARY KEY(`job_id`,`claim`),
	CONSTRAINT `{prefix}attempt_job_id` CHECK(`job_id` not like '% '),
	CONSTRAINT `{prefix}attempt_claim` CHECK(`claim` between 0 and 2147483647),
	CONSTRAINT `{prefix}attempt_attempt` CHECK(`attempt` between 0 and 2147483647),
	CONSTRAINT `{prefix}attempt_outcome` CHECK(`outcome` in ('failed', 'timeout', 'cancelled', 'released', 'snoozed', 'lost'))
);
--> statement-breakpoint
CREATE TABLE `{prefix}declared_set` (
	`name` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`hash` varchar(64) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`schedules` longtext CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`first_seen` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
	CONSTRAINT `{prefix}declared_set_name_hash_pk` PRIMARY KEY(`name`,`hash`)
);
--> statement-breakpoint
CREATE TABLE `{prefix}job` (
	`id` varchar(254) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (lower(concat(left(lpad(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 12, _utf8mb4'0' collate {exact}), 8), '-', right(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 4), '-7', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-8', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-', left(uuid(), 8), right(uuid(), 4)))),
	`periodic_task_id` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact},
	`slot` datetime(3),
	`missed` int NOT NULL DEFAULT 0,
	`run` bigint,
	`task` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`args` longtext CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT ('{}'),
	`timeout` int,
	`max_retries` int,
	`retry_delay` int,
	`retry_backoff` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact},
	`priority` int NOT NULL DEFAULT 0,
	`group_` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT '',
	`submitter` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact},
	`subject` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact},
	`state` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT 'waiting',
	`reason` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact},
	`queue` varchar(190) CHARACTER SET utf8mb4 COLLATE {exact},
	`worker` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact},
	`attempt` int NOT NULL DEFAULT 0,
	`submitted` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
	`run_at` datetime(3),
	`frozen_until` datetime(3),
	`started` datetime(3),
	`finished` datetime(3),
	`progress` longtext CHARACTER SET utf8mb4 COLLATE {exact},
	`result` longtext CHARACTER SET utf8mb4 COLLATE {exact},
	`error` longtext CHARACTER SET utf8mb4 COLLATE {exact},
	`stop_requested` datetime(3),
	`periodic_task_uid` varchar(254) CHARACTER SET ascii COLLATE ascii_bin,
	`exclusive` tinyint NOT NULL DEFAULT 1,
	`claim` int NOT NULL DEFAULT 0,
	`no_retry` varchar(1100) CHARACTER SET utf8mb4 COLLATE {exact},
	`releases` int NOT NULL DEFAULT 0,
	`open_key` varchar(254) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (case when `state` in ('waiting', 'blocked', 'running', 'external') then `periodic_task_uid` end) STORED,
	`open_turn` varchar(254) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (case when `periodic_task_uid` is null or not (`state` in ('waiting', 'blocked', 'running', 'external')) then null when `exclusive` = 1 and `state` <> 'blocked' then '' else `id` end) STORED,
	`open_group` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} GENERATED ALWAYS AS (case when `state` in ('waiting', 'blocked', 'running', 'external') then nullif(`group_`, '') end) STORED,
	`open_submitter` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} GENERATED ALWAYS AS (case when `state` in ('waiting', 'blocked', 'running', 'external') then `submitter` end) STORED,
	`ready` tinyint GENERATED ALWAYS AS (case when `state` = 'waiting' and `run_at` is null and `frozen_until` is null then 1 else 0 end) STORED,
	`claim_task` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} GENERATED ALWAYS AS (coalesce(concat(' ', `queue`), `task`)) STORED,
	`claim_rank` bigint GENERATED ALWAYS AS (-`priority`) STORED,
	`due_at` datetime(3) GENERATED ALWAYS AS (case when `state` = 'waiting' then greatest(coalesce(`run_at`, `frozen_until`), coalesce(`frozen_until`, `run_at`)) end) STORED,
	`held_by` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact} GENERATED ALWAYS AS (case `state` when 'external' then concat(' ', coalesce(`started`, `submitted`) + interval (case when coalesce(`reason`, '') = 'handed-over' then 0 else coalesce(`timeout`, 86400000) end * 1000) microsecond) when 'waiting' then case when `frozen_until` is not null then '' end end) STORED,
	CONSTRAINT `{prefix}job_id` PRIMARY KEY(`id`),
	CONSTRAINT `{prefix}job_occurrence` UNIQUE(`periodic_task_uid`,`slot`),
	CONSTRAINT `{prefix}job_open` UNIQUE(`open_key`,`open_turn`),
	CONSTRAINT `{prefix}job_json` CHECK(json_valid(`args`)),
	CONSTRAINT `{prefix}job_id` CHECK(`id` not like '% ' and `id` <> ''),
	CONSTRAINT `{prefix}job_missed` CHECK(`missed` between 0 and 2147483647),
	CONSTRAINT `{prefix}job_run` CHECK(`run` between 0 and 9007199254740991),
	CONSTRAINT `{prefix}job_timeout` CHECK(`timeout` between 1 and 2147483647),
	CONSTRAINT `{prefix}job_max_retries` CHECK(`max_retries` between -1 and 1000),
	CONSTRAINT `{prefix}job_retry_delay` CHECK(`retry_delay` between 0 and 2147483647),
	CONSTRAINT `{prefix}job_retry_backoff` CHECK(`retry_backoff` in ('exponential', 'fixed')),
	CONSTRAINT `{prefix}job_priority` CHECK(`priority` between -2147483647 and 2147483647),
	CONSTRAINT `{prefix}job_state` CHECK(`state` in ('waiting', 'blocked', 'running', 'external', 'success', 'failed', 'cancelled', 'skipped')),
	CONSTRAINT `{prefix}job_reason` CHECK(`reason` in ('overlap', 'missed', 'frozen', 'max-runs', 'unsubmittable', 'exhausted', 'permanent', 'lost', 'yielded', 'unreported', 'replaced', 'paused', 'run-now', 'retried', 'handed-over')),
	CONSTRAINT `{prefix}job_attempt` CHECK(`attempt` between 0 and 2147483647),
	CONSTRAINT `{prefix}job_run_at_date` CHECK(month(`run_at`) > 0 and day(`run_at`) between 1 and day(last_day(`run_at`))),
	CONSTRAINT `{prefix}job_finished_date` CHECK(month(`finished`) > 0 and day(`finished`) between 1 and day(last_day(`finished`))),
	CONSTRAINT `{prefix}job_stop_requested_date` CHECK(month(`stop_requested`) > 0 and day(`stop_requested`) between 1 and day(last_day(`stop_requested`))),
	CONSTRAINT `{prefix}job_periodic_task_uid` CHECK(`periodic_task_uid` not like '% ' and `periodic_task_uid` <> ''),
	CONSTRAINT `{prefix}job_exclusive` CHECK(`exclusive` between 0 and 1),
	CONSTRAINT `{prefix}job_claim` CHECK(`claim` between 0 and 2147483647),
	CONSTRAINT `{prefix}job_releases` CHECK(`releases` between 0 and 2147483647)
);
--> statement-breakpoint
CREATE TABLE `{prefix}job_log` (
	`id` bigint AUTO_INCREMENT NOT NULL,
	`job_id` varchar(254) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	`at` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
	`level` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT 'info',
	`message` longtext CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	CONSTRAINT `{prefix}job_log_id` PRIMARY KEY(`id`),
	CONSTRAINT `{prefix}job_log_job_id` CHECK(`job_id` not like '% '),
	CONSTRAINT `{prefix}job_log_level` CHECK(`level` in ('debug', 'info', 'warn', 'error'))
);
--> statement-breakpoint
CREATE TABLE `{prefix}periodic_task` (
	`id` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`task` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`enabled` tinyint NOT NULL DEFAULT 1,
	`timer` varchar(512) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`args` longtext CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT ('{}'),
	`summary` varchar(1000) CHARACTER SET utf8mb4 COLLATE {exact},
	`overlap` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT 'skip',
	`catch_up` int NOT NULL DEFAULT 1,
	`jitter` int NOT NULL DEFAULT 0,
	`starts` datetime(3),
	`ends` datetime(3),
	`max_runs` bigint,
	`timeout` int,
	`max_retries` int,
	`retry_delay` int,
	`retry_backoff` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact},
	`yields` tinyint NOT NULL DEFAULT 0,
	`on_exhausted` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT 'continue',
	`after_done` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT 'keep',
	`priority` int NOT NULL DEFAULT 0,
	`group_` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT '',
	`submitter` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact},
	`subject` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact},
	`nextrun` datetime(3),
	`declared_by` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact},
	`created` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
	`worker` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact},
	`last_slot` datetime(3),
	`run_count` bigint NOT NULL DEFAULT 0,
	`error_count` bigint NOT NULL DEFAULT 0,
	`failed_attempts` bigint NOT NULL DEFAULT 0,
	`last_run` datetime(3),
	`last_finished` datetime(3),
	`last_job` varchar(254) CHARACTER SET ascii COLLATE ascii_bin,
	`last_error` longtext CHARACTER SET utf8mb4 COLLATE {exact},
	`pause_reason` varchar(1000) CHARACTER SET utf8mb4 COLLATE {exact},
	`frozen_until` datetime(3),
	`retry_at` datetime(3),
	`retry` int,
	`retry_limit` int,
	`uid` varchar(254) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (lower(concat(left(lpad(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 12, _utf8mb4'0' collate {exact}), 8), '-', right(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 4), '-7', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-8', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-', left(uuid(), 8), right(uuid(), 4)))),
	`idle` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact},
	`marked` datetime(3),
	`mark_ends` datetime(3),
	`planned_from` varchar(800) CHARACTER SET utf8mb4 COLLATE {exact},
	`planned_nextrun` datetime(3),
	`planned_by_hand` tinyint NOT NULL DEFAULT 0,
	`status` varchar(16) CHARACTER SET utf8mb4 COLLATE {exact} GENERATED ALWAYS AS (case when `enabled` = 0 then 'paused' when `idle` in ('dead', 'invalid', 'retired') then `idle` when `frozen_until` is not null and coalesce(`idle`, '') <> 'done' then 'frozen' when `retry_at` is not null then 'retrying' when `idle` = 'done' then 'done' else 'active' end) STORED,
	`definition` varchar(720) CHARACTER SET utf8mb4 COLLATE {exact} GENERATED ALWAYS AS (concat(`enabled`, '|', `timer`, '|', `jitter`, '|', coalesce(`starts`, ''), '|', coalesce(`ends`, ''), '|', coalesce(`max_runs`, ''))) STORED,
	`wake_at` datetime(3) GENERATED ALWAYS AS (case when `worker` is not null then coalesce(`mark_ends`, timestamp'1970-01-01 00:00:00.000') when not (`planned_from` <=> concat(`enabled`, '|', `timer`, '|', `jitter`, '|', coalesce(`starts`, ''), '|', coalesce(`ends`, ''), '|', coalesce(`max_runs`, '')) and `planned_nextrun` <=> `nextrun`) then timestamp'1970-01-01 00:00:00.000' when `enabled` = 0 or `idle` is not null then null else greatest(coalesce(`nextrun`, timestamp'1970-01-01 00:00:00.000'), coalesce(`frozen_until`, timestamp'1970-01-01 00:00:00.000')) end) STORED,
	CONSTRAINT `{prefix}periodic_task_id` PRIMARY KEY(`id`),
	CONSTRAINT `{prefix}periodic_task_identity` UNIQUE(`uid`),
	CONSTRAINT `{prefix}periodic_task_json` CHECK(json_valid(`args`)),
	CONSTRAINT `{prefix}periodic_task_enabled` CHECK(`enabled` between 0 and 1),
	CONSTRAINT `{prefix}periodic_task_overlap` CHECK(`overlap` in ('skip', 'queue-one', 'replace', 'allow')),
	CONSTRAINT `{prefix}periodic_task_catch_up` CHECK(`catch_up` between 0 and 1000),
	CONSTRAINT `{prefix}periodic_task_jitter` CHECK(`jitter` between 0 and 2147483647),
	CONSTRAINT `{prefix}periodic_task_starts_date` CHECK(month(`starts`) > 0 and day(`starts`) between 1 and day(last_day(`starts`))),
	CONSTRAINT `{prefix}periodic_task_ends_date` CHECK(month(`ends`) > 0 and day(`ends`) between 1 and day(last_day(`ends`))),
	CONSTRAINT `{prefix}periodic_task_max_runs` CHECK(`max_runs` between 1 and 9007199254740991),
	CONSTRAINT `{prefix}periodic_task_timeout` CHECK(`timeout` between 1 and 2147483647),
	CONSTRAINT `{prefix}periodic_task_max_retries` CHECK(`max_retries` between -1 and 1000),
	CONSTRAINT `{prefix}periodic_task_retry_delay` CHECK(`retry_delay` between 0 and 2147483647),
	CONSTRAINT `{prefix}periodic_task_retry_backoff` CHECK(`retry_backoff` in ('exponential', 'fixed')),
	CONSTRAINT `{prefix}periodic_task_yields` CHECK(`yields` between 0 and 1),
	CONSTRAINT `{prefix}periodic_task_on_exhausted` CHECK(`on_exhausted` in ('continue', 'stop')),
	CONSTRAINT `{prefix}periodic_task_after_done` CHECK(`after_done` in ('keep', 'delete')),
	CONSTRAINT `{prefix}periodic_task_priority` CHECK(`priority` between -2147483647 and 2147483647),
	CONSTRAINT `{prefix}periodic_task_nextrun_date` CHECK(month(`nextrun`) > 0 and day(`nextrun`) between 1 and day(last_day(`nextrun`))),
	CONSTRAINT `{prefix}periodic_task_created_date` CHECK(month(`created`) > 0 and day(`created`) between 1 and day(last_day(`created`))),
	CONSTRAINT `{prefix}periodic_task_run_count` CHECK(`run_count` between 0 and 9007199254740991),
	CONSTRAINT `{prefix}periodic_task_error_count` CHECK(`error_count` between 0 and 9007199254740991),
	CONSTRAINT `{prefix}periodic_task_failed_attempts` CHECK(`failed_attempts` between 0 and 9007199254740991),
	CONSTRAINT `{prefix}periodic_task_last_job` CHECK(`last_job` not like '% '),
	CONSTRAINT `{prefix}periodic_task_retry` CHECK(`retry` between 0 and 2147483647),
	CONSTRAINT `{prefix}periodic_task_retry_limit` CHECK(`retry_limit` between 0 and 2147483647),
	CONSTRAINT `{prefix}periodic_task_uid` CHECK(`uid` not like '% ' and `uid` <> ''),
	CONSTRAINT `{prefix}periodic_task_idle` CHECK(`idle` in ('awaiting-finish', 'done', 'dead', 'invalid', 'retired')),
	CONSTRAINT `{prefix}periodic_task_planned_by_hand` CHECK(`planned_by_hand` between 0 and 1)
);
--> statement-breakpoint
CREATE TABLE `{prefix}schedule_freeze` (
	`id` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT (lower(concat(left(lpad(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 12, _utf8mb4'0' collate {exact}), 8), '-', right(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 4), '-7', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-8', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-', left(uuid(), 8), right(uuid(), 4)))),
	`schedule_id` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact},
	`task` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact},
	`group_` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact},
	`until` datetime(3) NOT NULL,
	`reason` varchar(1000) CHARACTER SET utf8mb4 COLLATE {exact},
	`created` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
	CONSTRAINT `{prefix}schedule_freeze_id` PRIMARY KEY(`id`),
	CONSTRAINT `{prefix}schedule_freeze_until_date` CHECK(month(`until`) > 0 and day(`until`) between 1 and day(last_day(`until`))),
	CONSTRAINT `{prefix}schedule_freeze_created_date` CHECK(month(`created`) > 0 and day(`created`) between 1 and day(last_day(`created`)))
);
--> statement-breakpoint
CREATE TABLE `{prefix}task_queue` (
	`task` varchar(254) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`queue` varchar(190) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	CONSTRAINT `{prefix}task_queue_task` PRIMARY KEY(`task`)
);
--> statement-breakpoint
CREATE TABLE `{prefix}worker` (
	`id` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`name` varchar(190) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`host` varchar(255) CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`pid` int NOT NULL,
	`tasks` longtext CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL,
	`sets` longtext CHARACTER SET utf8mb4 COLLATE {exact} NOT NULL DEFAULT ('{}'),
	`started` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
	`heartbeat` datetime(3) NOT NULL DEFAULT (utc_timestamp(3)),
	CONSTRAINT `{prefix}worker_id` PRIMARY KEY(`id`),
	CONSTRAINT `{prefix}worker_pid` CHECK(`pid` between 0 and 2147483647)
);
--> statement-breakpoint
CREATE INDEX `{prefix}job_claim` ON `{prefix}job` (`ready`,`group_`,`claim_task`,`claim_rank`);--> statement-breakpoint
CREATE INDEX `{prefix}job_due` ON `{prefix}job` (`due_at`);--> statement-breakpoint
CREATE INDEX `{prefix}job_held` ON `{prefix}job` (`held_by`);--> statement-breakpoint
CREATE INDEX `{prefix}job_state` ON `{prefix}job` (`state`,`finished`);--> statement-breakpoint
CREATE INDEX `{prefix}job_schedule` ON `{prefix}job` (`periodic_task_id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_task` ON `{prefix}job` (`task`);--> statement-breakpoint
CREATE INDEX `{prefix}job_group` ON `{prefix}job` (`group_`);--> statement-breakpoint
CREATE INDEX `{prefix}job_submitter` ON `{prefix}job` (`submitter`);--> statement-breakpoint
CREATE INDEX `{prefix}job_open_group` ON `{prefix}job` (`open_group`);--> statement-breakpoint
CREATE INDEX `{prefix}job_open_submitter` ON `{prefix}job` (`open_submitter`);--> statement-breakpoint
CREATE INDEX `{prefix}job_log_job` ON `{prefix}job_log` (`job_id`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_wake_at` ON `{prefix}periodic_task` (`wake_at`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_declared_by` ON `{prefix}periodic_task` (`declared_by`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_idle` ON `{prefix}periodic_task` (`idle`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_status` ON `{prefix}periodic_task` (`status`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_task` ON `{prefix}periodic_task` (`task`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_group` ON `{prefix}periodic_task` (`group_`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_submitter` ON `{prefix}periodic_task` (`submitter`);